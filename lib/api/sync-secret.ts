/**
 * SyncSecret as TypeScript. Written from
 * manifests/crds/syncsecrets/syncsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncConditionType } from "./sync-reasons.ts";

/**
 * A Secret that a tenant hands to the management cluster on purpose; whatever is not wrapped so
 * stays where it is. Whoever reads this object reads the Secret.
 */
export type SyncSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** SyncSecret. */
  kind: "SyncSecret";
  metadata: V1ObjectMeta;
  /** As a Secret's, base64. */
  data?: Readonly<Record<string, string>>;
  /** As a Secret's, plain text; it goes over data, and stays here as it is written. */
  stringData?: Readonly<Record<string, string>>;
  /**
   * As a Secret's; it cannot be changed. A service-account-token becomes an Opaque Secret with the
   * annotation globalpullsecret.io/original-type. Default: Opaque.
   */
  type?:
    | "Opaque"
    | "kubernetes.io/tls"
    | "kubernetes.io/dockerconfigjson"
    | "kubernetes.io/basic-auth"
    | "kubernetes.io/ssh-auth"
    | "kubernetes.io/service-account-token";
  /** As a Secret's; neither data nor this can be changed any more. */
  immutable?: boolean;
  /** How far it is. Nothing of the content is in it. */
  status?: SyncSecretStatus;
}>;

/** How far it is. Nothing of the content is in it. */
export type SyncSecretStatus = Readonly<{
  /** The generation that this speaks of. */
  observedGeneration?: number;
  /** Name of the Secret in the management cluster, in the tenant's namespace. */
  secretName?: string;
  /** That Secret's, when it was last seen as declared. */
  resourceVersion?: string;
  /** Ready and Stalled, as kstatus reads them, and Warning. */
  conditions?: readonly SyncSecretCondition[];
}>;

/** A condition. */
export type SyncSecretCondition = Readonly<{
  /** Ready, Stalled or Warning. */
  type: SyncConditionType;
  /** Whether it is so. */
  status: "True" | "False" | "Unknown";
  /** Why, in one word. */
  reason: string;
  /** Why, for people. */
  message?: string;
  /** The generation that this speaks of. */
  observedGeneration?: number;
  /** When status last changed. */
  lastTransitionTime: string;
}>;

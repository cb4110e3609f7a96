/**
 * SyncSecret as TypeScript. Written from
 * manifests/chart/files/syncsecrets/syncsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { SyncConditionType } from "./sync-reasons.ts";

/**
 * A Secret that a tenant shares with the management cluster. Secrets without a SyncSecret stay
 * where they are. Users who can read this object can read the content of the Secret.
 */
export type SyncSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** SyncSecret. */
  kind: "SyncSecret";
  metadata: V1ObjectMeta;
  /** The content, in base64, as in a Secret. */
  data?: Readonly<Record<string, string>>;
  /**
   * The content in plain text, as in a Secret. It overrides data, and stays here as it is written.
   */
  stringData?: Readonly<Record<string, string>>;
  /**
   * A Secret of the same namespace in the tenant's cluster, whose content and changes are shared
   * instead of data and stringData. A Role must allow the program to read it.
   */
  secretRef?: SyncSecretReference;
  /**
   * The type, as in a Secret; it cannot be changed. Custom types arrive as they are. A
   * kubernetes.io/service-account-token or bootstrap.kubernetes.io/token becomes an Opaque Secret
   * with the annotation globalpullsecret.io/original-type, because Kubernetes would turn it into a
   * credential of the management cluster. Default: Opaque.
   */
  type?: string;
  /** As in a Secret: once true, neither data nor this field can be changed. */
  immutable?: boolean;
  /** The progress. It contains nothing of the content. */
  status?: SyncSecretStatus;
}>;

/**
 * A Secret of the same namespace in the tenant's cluster, whose content and changes are shared
 * instead of data and stringData. A Role must allow the program to read it.
 */
export type SyncSecretReference = Readonly<{
  /** Its name. It must have the SyncSecret's type. */
  name: string;
}>;

/** The progress. It contains nothing of the content. */
export type SyncSecretStatus = Readonly<{
  /** The generation that this describes. */
  observedGeneration?: number;
  /** Name of the Secret in the management cluster, in the tenant's namespace. */
  secretName?: string;
  /** The resourceVersion of that Secret when it last had the declared content. */
  resourceVersion?: string;
  /** Ready and Stalled, as kstatus reads them, and Warning. */
  conditions?: readonly SyncSecretCondition[];
}>;

/** A condition. */
export type SyncSecretCondition = Readonly<{
  /** Ready, Stalled or Warning. */
  type: SyncConditionType;
  /** True, False or Unknown. */
  status: "True" | "False" | "Unknown";
  /** The reason, in one word. */
  reason: string;
  /** The reason, for people. */
  message?: string;
  /** The generation that this describes. */
  observedGeneration?: number;
  /** When the condition last changed its status. */
  lastTransitionTime: string;
}>;

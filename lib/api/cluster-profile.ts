/**
 * ClusterProfile of SIG Multicluster's cluster inventory (KEP-4322, access by KEP-5339), as far as
 * it is read and written here. Its definition is not ours.
 */
import type { V1Condition, V1ObjectMeta } from "@kubernetes/client-node";
import type { JoinedConditionType } from "./fleet-reasons.ts";

export type ClusterProfile = Readonly<{
  apiVersion: typeof clusterProfileVersion;
  kind: "ClusterProfile";
  metadata: V1ObjectMeta;
  spec: Readonly<{ clusterManager: Readonly<{ name: string }>; displayName?: string }>;
  status?: ClusterProfileStatus;
}>;

export type ClusterProfileStatus = Readonly<{
  /** Ours; others may have written more. */
  conditions?: readonly ProfileCondition[];
  version?: Readonly<{ kubernetes?: string }>;
  /** How the cluster is reached; of each only what is asked for by name is believed. */
  accessProviders?: readonly AccessProvider[];
  /** What the former field is called; what `accessProviders` names as well is taken from there. */
  credentialProviders?: readonly AccessProvider[];
}>;

type ProfileCondition = V1Condition & Readonly<{ type: JoinedConditionType }>;

/** `cluster` is a kubeconfig's cluster, of which nothing has been judged. */
export type AccessProvider = Readonly<{
  name: string;
  cluster?: Readonly<Record<string, unknown>>;
}>;

export const clusterProfileVersion = "multicluster.x-k8s.io/v1alpha1";

/** The extension in which a profile tells a secret reader what to read. */
export const execExtension = "client.authentication.k8s.io/exec";

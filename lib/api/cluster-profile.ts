/**
 * ClusterProfile of SIG Multicluster's cluster inventory (KEP-4322, access by KEP-5339), as far as
 * we read and write it. Its CRD is not ours.
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
  /** Our conditions. Other programs may have written more of them. */
  conditions?: readonly ProfileCondition[];
  version?: Readonly<{ kubernetes?: string }>;
  /** How to reach the cluster. Each entry's name is checked before use. */
  accessProviders?: readonly AccessProvider[];
  /** The former name of `accessProviders`, which wins if both have the entry. */
  credentialProviders?: readonly AccessProvider[];
}>;

type ProfileCondition = V1Condition & Readonly<{ type: JoinedConditionType }>;

/** `cluster` is a kubeconfig's cluster, not validated yet. */
export type AccessProvider = Readonly<{
  name: string;
  cluster?: Readonly<Record<string, unknown>>;
}>;

export const clusterProfileVersion = "multicluster.x-k8s.io/v1alpha1";

/** The extension in which a profile states what a secret reader must read. */
export const execExtension = "client.authentication.k8s.io/exec";

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
  /** The conditions that we write. Other programs can have added more conditions. */
  conditions?: readonly ProfileCondition[];
  version?: Readonly<{ kubernetes?: string }>;
  /** How to reach the cluster. We check the name of each entry before we use the entry. */
  accessProviders?: readonly AccessProvider[];
}>;

type ProfileCondition = V1Condition & Readonly<{ type: JoinedConditionType }>;

/**
 * One way to reach a cluster. `cluster` has the fields of a kubeconfig's cluster, not validated
 * yet.
 */
export type AccessProvider = Readonly<{
  name: string;
  cluster?: Readonly<Record<string, unknown>>;
}>;

export const clusterProfileVersion = "multicluster.x-k8s.io/v1alpha1";

/**
 * Name of an extension of `cluster`. It identifies the Secret from which a secret reader takes the
 * credential.
 */
export const execExtension = "client.authentication.k8s.io/exec";

/**
 * NodePullSecret as TypeScript. Written from
 * manifests/chart/crds/nodepullsecrets.yaml: change that, then run
 * `npm run docs`.
 */
import type { V1ObjectMeta } from "@kubernetes/client-node";

/**
 * NodePullSecret shows what one node shall have (spec, written by the controller) and what the
 * node's agent reports (status, written by the agent). It has the name of the node and contains no
 * credential.
 */
export type NodePullSecret = Readonly<{
  /** globalpullsecret.io/v1alpha1. */
  apiVersion: "globalpullsecret.io/v1alpha1";
  /** NodePullSecret. */
  kind: "NodePullSecret";
  metadata: V1ObjectMeta;
  /** What this node shall have. */
  spec: NodePullSecretSpec;
  /** The agent's last report. */
  status?: NodePullSecretStatus;
}>;

/** What this node shall have. */
export type NodePullSecretSpec = Readonly<{
  /** The revision of global-pull-secret. 0 means that nothing was asked yet. */
  revision: number;
  /** A salted digest of the revision's content. */
  digest: string;
  /** When the controller asked, in seconds since 1970. Another number asks again. */
  attempt: number;
}>;

/** The agent's last report. */
export type NodePullSecretStatus = Readonly<{
  /** The revision that the report is about. */
  revision?: number;
  /** The digest of the content that the report is about. */
  digest?: string;
  /** The attempt that the report answers. 0 if the agent was not asked. */
  attempt?: number;
  /**
   * Proved: the kubelet runs with the content. Failed: it did not, and the former content is
   * restored. Refused: the node cannot take the content, or can no longer keep it. Removed: nothing
   * of this product is left on the node.
   */
  result?: "Proved" | "Failed" | "Refused" | "Removed";
  /** The code of the reason, explained in docs/reference/errors.md. */
  code?: string;
  /** The reason, for people. */
  message?: string;
  /** The delivery mode of the agent. */
  mode?: "Restart" | "Reread" | "CredentialProvider" | "Runtime" | "CredentialProviderAnnotated";
  /** The version of the agent. */
  version?: string;
  /** When the agent first gave this result with this code for this content. */
  since?: string;
  /** When the agent gave this report. */
  time?: string;
}>;

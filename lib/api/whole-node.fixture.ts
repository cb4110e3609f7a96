/** A NodePullSecret with every field of the CRD, like `whole` for GlobalPullSecret. */
import type {
  NodePullSecret,
  NodePullSecretSpec,
  NodePullSecretStatus,
} from "./node-pull-secret.ts";

const spec: Required<NodePullSecretSpec> = {
  revision: 8,
  digest: "digest",
  attempt: 1_764_416_000,
};
const status: Required<NodePullSecretStatus> = {
  ...spec,
  result: "Failed",
  code: "GPS218",
  message: "the kubelet did not come back",
  mode: "Restart",
  version: "0.4.0",
  since: "2026-11-23T09:00:00Z",
  time: "2026-11-23T09:00:05Z",
};

export const wholeNode: Required<NodePullSecret> = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "NodePullSecret",
  metadata: { name: "n1", namespace: "kube-system" },
  spec,
  status,
};

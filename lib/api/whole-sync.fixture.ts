/** A SyncSecret with every field of the CRD, like `whole` for GlobalPullSecret. */
import type { SyncSecret, SyncSecretCondition, SyncSecretStatus } from "./sync-secret.ts";

const condition: Required<SyncSecretCondition> = {
  type: "Ready",
  status: "True",
  reason: "Synced",
  message: "Secret 0e9d has the declared content",
  observedGeneration: 1,
  lastTransitionTime: "2026-11-23T09:00:00Z",
};
const status: Required<SyncSecretStatus> = {
  observedGeneration: 1,
  secretName: "0e9d",
  resourceVersion: "7",
  conditions: [condition],
};

export const wholeSync: Required<SyncSecret> = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "SyncSecret",
  metadata: { name: "wildcard-tls", namespace: "default" },
  data: {},
  stringData: {},
  secretRef: { name: "wildcard" },
  type: "Opaque",
  immutable: false,
  status,
};

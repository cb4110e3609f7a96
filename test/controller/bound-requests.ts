/**
 * Requests of the controller's account. The policies must allow some of them, and deny the others.
 */
import type { KubernetesObject } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { globalSecret } from "#controller/objects/global-secret.ts";
import { role, roleBinding, serviceAccount } from "#controller/objects/daemonset.ts";
import { readState, stateSecret } from "#controller/objects/state.ts";
import { leaseName } from "#kube/client/ownership.ts";
import { collections, globalPullSecretPath, leaseIn, owned } from "#kube/client/paths.ts";
import { declared } from "./bound-agents.ts";

export const controller = "global-pull-secret-controller";

export const states = ["create", "update"] as const;
export type State = (typeof states)[number];

/** A record of another change. */
export const another = {
  manager: "other",
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:metadata": { "f:labels": { "f:name": {} } } },
};
export const grants = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const ownerOf = (kind: string, name: string) => ({ apiVersion: "v1", kind, name, uid: "1" });
/** The object with more metadata. */
const withMetadata = (object: KubernetesObject, more: object) => ({
  ...object,
  metadata: { ...object.metadata, ...more },
});
/** A Secret that Kubernetes fills with the token of another account. */
const token = (name: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace: names.namespace,
    annotations: { "kubernetes.io/service-account.name": names.agentName },
  },
  type: "kubernetes.io/service-account-token",
});
const newest = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "apply" as const,
  revision: 1,
  salt: Buffer.alloc(32),
};
const global = globalSecret({
  newest,
  mode: "Restart",
  served: "nothing",
  publishedAt: 1,
  former: "",
});

/** Metadata on which other programs act. */
const foreign = {
  "a release of Helm": { labels: { owner: "helm", name: "cilium", status: "deployed" } },
  "a copy of another Secret": {
    annotations: { "replicator.v1.mittwald.de/replicate-from": "a/b" },
  },
  "a role of a cloud": { annotations: { "eks.amazonaws.com/role-arn": "arn:aws" } },
  "another value of its own label": { labels: { "app.kubernetes.io/managed-by": "Helm" } },
  "a finalizer": { finalizers: ["a.example/held"] },
  "an owner": { ownerReferences: [ownerOf("ConfigMap", "a")] },
};
const nodeName = "a";
const nodePullSecret = {
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "NodePullSecret",
  metadata: { name: nodeName, namespace: names.namespace },
  spec: { revision: 0, digest: "", attempt: 0 },
};
export const itsOwn: Readonly<Record<string, readonly [path: string, body: KubernetesObject]>> = {
  "global-pull-secret": [owned.global, global],
  "global-pull-secret-state": [owned.state, stateSecret(readState(undefined))],
  "the agents' account": [owned.serviceAccount, serviceAccount],
  "the agents' Role": [owned.role, role],
  "the agents' RoleBinding": [owned.roleBinding, roleBinding],
  "the DaemonSet": [owned.daemonSet, declared()],
  "the Lease": [
    leaseIn(names.namespace),
    {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name: leaseName, namespace: names.namespace },
    },
  ],
  GlobalPullSecret: [
    globalPullSecretPath,
    {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata: { name: names.globalPullSecretName },
    },
  ],
  "a NodePullSecret": [`${collections.nodePullSecrets}/${nodeName}`, nodePullSecret],
};
/** A NodePullSecret as the controller creates it: its owner is its Node. */
export const ofNode = withMetadata(nodePullSecret, {
  ownerReferences: [ownerOf("Node", nodeName)],
});

const somebody = [{ kind: "User", name: "mallory" }];
/** Requests by which the account could get rights that no policy bounds. */
export const passing: readonly (readonly [
  what: string,
  path: string,
  body: object,
  states: readonly State[],
])[] = [
  // An update cannot change a Secret's type or the Role of a RoleBinding.
  [
    "a token of another account in global-pull-secret",
    owned.global,
    token(names.globalSecretName),
    ["create"],
  ],
  [
    "a token of another account in global-pull-secret-state",
    owned.state,
    token(names.stateSecretName),
    ["create"],
  ],
  ...Object.entries(itsOwn).flatMap(([name, [path, body]]) =>
    Object.entries(foreign).map(
      ([what, more]) => [`${what} in ${name}`, path, withMetadata(body, more), states] as const,
    ),
  ),
  [
    "a NodePullSecret of another Node",
    `${collections.nodePullSecrets}/${nodeName}`,
    withMetadata(nodePullSecret, { ownerReferences: [ownerOf("Node", "b")] }),
    states,
  ],
  [
    "a right of its own for the agents",
    owned.role,
    { ...role, rules: [grants] },
    ["create", "update"],
  ],
  [
    "the agents' Role for another subject",
    owned.roleBinding,
    { ...roleBinding, subjects: somebody },
    ["create", "update"],
  ],
  [
    "its own Role for the agents",
    owned.roleBinding,
    { ...roleBinding, roleRef: { ...roleBinding.roleRef, name: controller } },
    ["create"],
  ],
];

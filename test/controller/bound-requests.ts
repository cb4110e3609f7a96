/**
 * Requests of the controller's account. The policies must allow some of them, and deny the others.
 */
import type {
  KubernetesObject,
  V1Container,
  V1ObjectMeta,
  V1PodSpec,
} from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { globalSecret } from "#controller/objects/global-secret.ts";
import { role, roleBinding, serviceAccount } from "#controller/objects/daemonset.ts";
import { readState, stateSecret } from "#controller/objects/state.ts";
import { leaseName } from "#kube/client/ownership.ts";
import { globalPullSecretPath, leaseIn, owned } from "#kube/client/paths.ts";
import { declared } from "./bound-agents.ts";

export const controller = "global-pull-secret-controller";
const controlled = { apiVersion: "apps/v1", kind: "DaemonSet", controller: true, uid: "1" };
export const owner = { ...controlled, name: names.agentName };
export const labels = { ...names.agentLabels };

export const states = ["create", "update"] as const;
export type State = (typeof states)[number];

/** Pods that do not belong to the agents. */
export const strangers: Readonly<Record<string, V1ObjectMeta>> = {
  "a pod without an owner": {},
  "a pod with the agents' label alone": { labels },
  "a pod of the DaemonSet without the label": { ownerReferences: [owner] },
  "a pod of another DaemonSet": { labels, ownerReferences: [{ ...owner, name: "kube-proxy" }] },
  "a pod of another group": {
    labels,
    ownerReferences: [{ ...owner, apiVersion: "apps.example/v1" }],
  },
  "a pod of another kind": { labels, ownerReferences: [{ ...owner, kind: "ReplicaSet" }] },
  "a pod that the DaemonSet does not control": {
    labels,
    ownerReferences: [{ ...owner, controller: false }],
  },
};

export const anotherImage = [{ name: "main", image: "evil.example/x:1" }] as V1Container[];
/** Velero runs this command in the pod's container. */
const hook = { "pre.hook.backup.velero.io/command": '["/nodejs/bin/node"]' };
/** A record of another change. */
export const another = {
  manager: "other",
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:metadata": { "f:labels": { "f:name": {} } } },
};
/** Changes of an agent's pod, which has the annotation a.example/team. null removes a key. */
export const changesOfPod: Readonly<
  Record<string, Readonly<{ metadata?: object; spec?: V1PodSpec }>>
> = {
  "the image": { spec: { containers: anotherImage } },
  "the deadline": { spec: { activeDeadlineSeconds: 1 } as V1PodSpec },
  "the owners": { metadata: { ownerReferences: [] } },
  "the list of owners": {
    metadata: { ownerReferences: [owner, { ...owner, name: "b", uid: "2", controller: false }] },
  },
  "the finalizers": { metadata: { finalizers: ["a.example/held"] } },
  "the label name": { metadata: { labels: { name: "kube-dns" } } },
  "the label k8s-app": { metadata: { labels: { ...labels, "k8s-app": "kube-dns" } } },
  "the command of a backup": { metadata: { annotations: hook } },
  "the command of a backup, and the record of the change": {
    metadata: { annotations: hook, managedFields: [{}] },
  },
  "a label, and the record of the change": {
    metadata: { labels: { ...labels, "k8s-app": "kube-dns" }, managedFields: [{}] },
  },
  "the command of a backup, and the record of another change": {
    metadata: { annotations: hook, managedFields: [another] },
  },
  "the annotation of another client": { metadata: { annotations: { "a.example/team": null } } },
  "the value of another client's annotation": {
    metadata: { annotations: { "a.example/team": "b" } },
  },
};

export const grants = { apiGroups: [""], resources: ["pods"], verbs: ["patch"] };
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
const global = globalSecret({ newest, mode: "Restart", served: "nothing", publishedAt: 1 });

/** Metadata on which other programs act. */
const foreign = {
  "a release of Helm": { labels: { owner: "helm", name: "cilium", status: "deployed" } },
  "a copy of another Secret": {
    annotations: { "replicator.v1.mittwald.de/replicate-from": "a/b" },
  },
  "a role of a cloud": { annotations: { "eks.amazonaws.com/role-arn": "arn:aws" } },
  "another value of its own label": { labels: { "app.kubernetes.io/managed-by": "Helm" } },
  "a finalizer": { finalizers: ["a.example/held"] },
  "an owner": { ownerReferences: [owner] },
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
};

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

/** The DaemonSet of the agents, as we declare it. */
import { createHash } from "node:crypto";
import type {
  V1DaemonSet,
  V1PodTemplateSpec,
  V1Role,
  V1RoleBinding,
  V1ServiceAccount,
} from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { type Agent, affinityOf, nodeSelector } from "./agent.ts";
import { container, volumes, firstContainer } from "./container.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { annotations } from "./annotations.ts";
import { namespace, agentName } from "#contract/names.ts";

/** On a template: set by `kubectl rollout restart`. */
export const restartedAt = "kubectl.kubernetes.io/restartedAt";

/**
 * The DaemonSet. `live`: its restart by `kubectl rollout restart` stays, which the controller
 * follows.
 */
export function daemonSet(agent: Agent, live?: V1DaemonSet): V1DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: {
      name: names.agentName,
      namespace: names.namespace,
      labels: { ...names.agentLabels, ...ownerLabels },
    },
    spec: {
      selector: { matchLabels: { ...names.agentLabels } },
      minReadySeconds: names.guardSeconds,
      revisionHistoryLimit: 2,
      // The controller replaces the pods itself: never one that is changing its node, and no more
      // at a time than the budget allows.
      updateStrategy: { type: "OnDelete" },
      template: template(agent, live),
    },
  };
}

/** Digest of the template: another digest is another agent. */
export function templateDigest(agent: Agent): string {
  return createHash("sha256")
    .update(JSON.stringify(podSpec(agent, "")))
    .digest("hex")
    .slice(0, 16);
}

function template(agent: Agent, live: V1DaemonSet | undefined): V1PodTemplateSpec {
  const affinity = affinityOf(agent);
  const digest = templateDigest(agent);
  const restarted = live?.spec?.template.metadata?.annotations?.[restartedAt];
  return {
    metadata: {
      labels: { ...agent.pod.labels, ...names.agentLabels, ...ownerLabels },
      annotations: {
        ...agent.pod.annotations,
        ...(restarted !== undefined && { [restartedAt]: restarted }),
        [annotations.template]: digest,
        [annotations.mode]: agent.delivery.mode,
      },
    },
    // The affinity is outside the digest: an agent is the same wherever it may run.
    spec: { ...podSpec(agent, digest), ...(affinity && { affinity }) },
  };
}

function podSpec(agent: Agent, digest: string): NonNullable<V1PodTemplateSpec["spec"]> {
  const { priorityClass } = agent.pod;
  const imagePullSecrets = agent.imagePullSecrets.map((name) => ({ name }));
  return {
    serviceAccountName: names.agentName,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The kubelet's healthz listens on the node's loopback. Besides, bringing credentials to a new
    // node then needs no CNI.
    hostNetwork: true,
    dnsPolicy: "Default",
    nodeSelector,
    tolerations: [{ operator: "Exists" }],
    ...(priorityClass !== "" && { priorityClassName: priorityClass }),
    ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsUser: 0,
      runAsGroup: 0,
      seccompProfile: { type: "RuntimeDefault" },
      // With the runtime's type, SELinux would keep uid 0 in a container from the kubelet's
      // directory, in every mode.
      ...(agent.seLinuxType !== "" && { seLinuxOptions: { type: agent.seLinuxType } }),
    },
    ...(agent.hiddenFiles === "Look" && { initContainers: [firstContainer(agent)] }),
    containers: [container(agent, digest)],
    volumes: volumes(agent),
  };
}

const metadata = { name: agentName, namespace, labels: { ...ownerLabels } };
const rbac = "rbac.authorization.k8s.io";

export const serviceAccount: V1ServiceAccount = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata,
  automountServiceAccountToken: false,
};

export const role: V1Role = { apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules: [] };

export const roleBinding: V1RoleBinding = {
  apiVersion: `${rbac}/v1`,
  kind: "RoleBinding",
  metadata,
  roleRef: { apiGroup: rbac, kind: "Role", name: agentName },
  subjects: [{ kind: "ServiceAccount", name: agentName, namespace }],
};

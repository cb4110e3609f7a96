/**
 * The DaemonSet of the agents and their ServiceAccount, Role and RoleBinding. The agents have no
 * token and use no API, so the Role is empty. These objects exist because users look for them, and
 * because the agents must not use the ServiceAccount `default`.
 */
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
import { container, volumes } from "./container.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { annotations } from "./annotations.ts";
import { namespace, agentName } from "#contract/names.ts";

/** The annotation that `kubectl rollout restart` sets on a template. */
export const restartedAt = "kubectl.kubernetes.io/restartedAt";

/** The DaemonSet. Keeps the time of a `kubectl rollout restart` from `live`. */
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
      // The controller replaces the pods itself. It never replaces a pod that is changing its node,
      // and replaces no more pods at a time than maxUnavailable allows.
      updateStrategy: { type: "OnDelete" },
      template: template(agent, live),
    },
  };
}

/**
 * Digest of the template. A new digest means new agents, so the affinity, which does not change an
 * agent, is left out.
 */
export function templateDigest(agent: Agent): string {
  const metadata = [labelsOf(agent), agent.pod.annotations].map((fields) =>
    // Sorted, because the order of the installer's flags must not change the digest.
    Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return createHash("sha256")
    .update(JSON.stringify([metadata, podSpec(agent, "")]))
    .digest("hex")
    .slice(0, 16);
}

function template(agent: Agent, live: V1DaemonSet | undefined): V1PodTemplateSpec {
  const affinity = affinityOf(agent);
  const digest = templateDigest(agent);
  const restarted = live?.spec?.template.metadata?.annotations?.[restartedAt];
  return {
    metadata: {
      labels: labelsOf(agent),
      annotations: {
        ...agent.pod.annotations,
        ...(restarted !== undefined && { [restartedAt]: restarted }),
        [annotations.template]: digest,
        [annotations.mode]: names.publishedMode(agent.delivery),
      },
    },
    spec: { ...podSpec(agent, digest), ...(affinity && { affinity }) },
  };
}

function labelsOf(agent: Agent): Readonly<Record<string, string>> {
  return { ...agent.pod.labels, ...names.agentLabels, ...ownerLabels };
}

function podSpec(agent: Agent, digest: string): NonNullable<V1PodTemplateSpec["spec"]> {
  const { priorityClass } = agent.pod;
  const imagePullSecrets = agent.imagePullSecrets.map((name) => ({ name }));
  return {
    serviceAccountName: names.agentName,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // On the node's network, the agent reaches the kubelet's healthz, which listens on loopback.
    // Also, a new node can get credentials before its CNI works.
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
      // With the runtime's own type, SELinux would keep even uid 0 out of the kubelet's directory.
      ...(agent.seLinuxType !== "" && { seLinuxOptions: { type: agent.seLinuxType } }),
    },
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

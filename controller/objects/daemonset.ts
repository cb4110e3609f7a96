/** The DaemonSet of the agents and their ServiceAccount, Role and RoleBinding. */
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

/**
 * Seconds for which the container of a new pod must run until the next pod is replaced. An agent
 * that ends shortly after its start then stops the upgrade.
 */
const minReadySeconds = 30;

/**
 * The DaemonSet. An upgrade replaces at most `maxUnavailable` pods at a time. Keeps the time of a
 * `kubectl rollout restart` from `live`.
 */
export function daemonSet(agent: Agent, maxUnavailable: number, live?: V1DaemonSet): V1DaemonSet {
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
      minReadySeconds,
      revisionHistoryLimit: 2,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable } },
      template: template(agent, live),
    },
  };
}

/**
 * Digest of the whole template, also of fields that it lacks: the next apply removes a field that
 * an earlier template had.
 */
export function templateDigest(agent: Agent): string {
  const metadata = [labelsOf(agent), agent.pod.annotations].map((fields) =>
    // Sorted, because the order of the installer's flags must not change the digest.
    Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  return createHash("sha256")
    .update(JSON.stringify([metadata, podSpec(agent), affinityOf(agent)]))
    .digest("hex")
    .slice(0, 16);
}

function template(agent: Agent, live: V1DaemonSet | undefined): V1PodTemplateSpec {
  const affinity = affinityOf(agent);
  const restarted = live?.spec?.template.metadata?.annotations?.[restartedAt];
  return {
    metadata: {
      labels: labelsOf(agent),
      annotations: {
        ...agent.pod.annotations,
        ...(restarted !== undefined && { [restartedAt]: restarted }),
        [annotations.template]: templateDigest(agent),
        [annotations.mode]: names.publishedMode(agent.delivery),
      },
    },
    spec: { ...podSpec(agent), ...(affinity && { affinity }) },
  };
}

function labelsOf(agent: Agent): Readonly<Record<string, string>> {
  return { ...agent.pod.labels, ...names.agentLabels, ...ownerLabels };
}

function podSpec(agent: Agent): NonNullable<V1PodTemplateSpec["spec"]> {
  const { priorityClass } = agent.pod;
  const imagePullSecrets = agent.imagePullSecrets.map((name) => ({ name }));
  return {
    serviceAccountName: names.agentName,
    // The token is in a volume of its own, which only root can read.
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
    // As its container's first process, Node would ignore a SIGTERM that arrives while it loads the
    // agent, and the pod would end only after its grace period.
    shareProcessNamespace: true,
    terminationGracePeriodSeconds: 30,
    securityContext: {
      runAsUser: 0,
      runAsGroup: 0,
      seccompProfile: { type: "RuntimeDefault" },
      // With the runtime's own type, SELinux would keep even uid 0 out of the kubelet's directory.
      ...(agent.seLinuxType !== "" && { seLinuxOptions: { type: agent.seLinuxType } }),
    },
    containers: [container(agent)],
    volumes: volumes(agent),
  };
}

const metadata = { name: agentName, namespace, labels: { ...ownerLabels } };
const rbac = "rbac.authorization.k8s.io";
const apiGroup = "globalpullsecret.io";

export const serviceAccount: V1ServiceAccount = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata,
  automountServiceAccountToken: false,
};

/**
 * The agents' rights in kube-system. All agents share them, so each agent can read the
 * NodePullSecrets of all nodes. A ValidatingAdmissionPolicy allows each agent to write only the
 * status of its own node's object (manifests/chart/templates/agents.yaml).
 */
export const role: V1Role = {
  apiVersion: `${rbac}/v1`,
  kind: "Role",
  metadata,
  rules: [
    {
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: [names.globalSecretName],
      verbs: ["list", "watch"],
    },
    { apiGroups: [apiGroup], resources: ["nodepullsecrets"], verbs: ["list", "watch"] },
    { apiGroups: [apiGroup], resources: ["nodepullsecrets/status"], verbs: ["patch"] },
  ],
};

export const roleBinding: V1RoleBinding = {
  apiVersion: `${rbac}/v1`,
  kind: "RoleBinding",
  metadata,
  roleRef: { apiGroup: rbac, kind: "Role", name: agentName },
  subjects: [{ kind: "ServiceAccount", name: agentName, namespace }],
};

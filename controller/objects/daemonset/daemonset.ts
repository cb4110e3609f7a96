/** The DaemonSet of the agents, as we declare it. */
import { createHash } from "node:crypto";
import type { V1DaemonSet, V1PodTemplateSpec } from "@kubernetes/client-node";
import { fromTemplate } from "#contract/grant.ts";
import * as names from "#contract/names.ts";
import type { Agent } from "./agent.ts";
import { container, volumes } from "./container.ts";
import { firstContainer } from "./first-container.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { annotations } from "./annotation-names.ts";
import { affinityOf, nodeSelector } from "./placement.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";

/**
 * minReadySeconds at birth. Agents that touch nothing are then Ready but not available, so that
 * `kubectl rollout status` waits. It is lowered together with the first revision, which is safe for
 * pods that have been Ready for longer, and never raised together with one.
 */
const bornSeconds = 86_400;

/**
 * The content that an agent of the template applies: a revision, and the salted digest of its
 * content (empty for revision 0).
 */
export type TemplateContent = Readonly<{ revision: number; digest: string }>;

export function daemonSet(agent: Agent, content: TemplateContent, strategy: Strategy): V1DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: {
      name: names.agentName,
      namespace: names.namespace,
      labels: { ...names.agentLabels, ...ownerLabels },
      annotations: {
        [annotations.stage]: strategy.stage,
        ...(agent.pinned && { [annotations.awaitedSince]: agent.pinned.since }),
      },
    },
    spec: {
      selector: { matchLabels: { ...names.agentLabels } },
      minReadySeconds: content.revision === 0 ? bornSeconds : names.guardSeconds,
      revisionHistoryLimit: 2,
      updateStrategy: {
        type: "RollingUpdate",
        // maxSurge stays 0: two agents on one node would both own its file.
        rollingUpdate: { maxUnavailable: strategy.maxUnavailable, maxSurge: 0 },
      },
      template: template(agent, content),
    },
  };
}

/**
 * Digest of the template without its revision. The same revision with another digest is another
 * agent.
 */
export function templateDigest(agent: Agent): string {
  return createHash("sha256")
    .update(JSON.stringify(podSpec(agent, 0)))
    .digest("hex")
    .slice(0, 16);
}

function template(agent: Agent, { revision, digest }: TemplateContent): V1PodTemplateSpec {
  const affinity = affinityOf(agent);
  return {
    metadata: {
      labels: { ...agent.pod.labels, ...names.agentLabels, ...ownerLabels },
      annotations: {
        ...agent.pod.annotations,
        [names.revisionAnnotation]: String(revision),
        [names.digestAnnotation]: digest,
        [names.sinceAnnotation]: fromTemplate,
        [annotations.template]: templateDigest(agent),
      },
    },
    // The affinity is outside the digest: an agent is the same wherever it may run.
    spec: { ...podSpec(agent, revision), ...(affinity && { affinity }) },
  };
}

function podSpec(agent: Agent, revision: number): NonNullable<V1PodTemplateSpec["spec"]> {
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
      // Without these two, the profiles would keep uid 0 in a container from the kubelet's
      // directory and the system bus.
      appArmorProfile: { type: "Unconfined" },
      seLinuxOptions: { type: "spc_t" },
    },
    ...(agent.hiddenFiles === "Look" && { initContainers: [firstContainer(agent)] }),
    containers: [container(agent, revision)],
    volumes: volumes(agent),
  };
}

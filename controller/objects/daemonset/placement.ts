/**
 * Which nodes have agents: as the DaemonSet's affinity, and as the survey's selector for the same
 * nodes.
 */
import type { V1Affinity } from "@kubernetes/client-node";
import type { Agent } from "./agent.ts";
import { affinityTo } from "./pinned-nodes.ts";

const linux = { label: "kubernetes.io/os", value: "linux" };

export const nodeSelector = { [linux.label]: linux.value };

/**
 * The affinity of the agents. A pin takes precedence over the selector: pinned nodes still have
 * something of ours.
 */
export function affinityOf({ pinned, pod }: Agent): V1Affinity | undefined {
  if (pinned !== undefined) return affinityTo(pinned);
  const matchExpressions = pod.nodes.requirements.map(({ values, ...one }) => ({
    ...one,
    ...(values && { values: [...values] }),
  }));
  if (matchExpressions.length === 0) return undefined;
  const nodeSelectorTerms = [{ matchExpressions }];
  return {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
  };
}

/**
 * The label selector of the nodes that have agents; of all Linux nodes where the DaemonSet is
 * pinned, since any may have been.
 */
export function nodesOf({ pinned, pod }: Agent): string {
  const selected = pinned === undefined ? pod.nodes.text : "";
  return [`${linux.label}=${linux.value}`, selected].filter(Boolean).join(",");
}

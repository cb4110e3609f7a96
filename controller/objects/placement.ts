/** Which nodes have agents: as the DaemonSet's affinity, and as a selector for the same nodes. */
import type { V1Affinity } from "@kubernetes/client-node";
import type { Agent } from "./agent.ts";

const linux = { label: "kubernetes.io/os", value: "linux" };

export const nodeSelector = { [linux.label]: linux.value };

/** The affinity of the agents. */
export function affinityOf({ pod }: Agent): V1Affinity | undefined {
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

/** The label selector of the nodes that have agents. */
export function nodesOf({ pod }: Agent): string {
  return [`${linux.label}=${linux.value}`, pod.nodes.text].filter(Boolean).join(",");
}

/**
 * The installer's flags for the agents' pods. None of them restarts a kubelet. A change replaces
 * the agents' pods, but the new agents change nothing on the nodes.
 */
import type { PodPolicy } from "./policy.ts";
import { dnsName, pullSecretName } from "./values.ts";
import type { Table, TableValues } from "#contract/table.ts";
import { Wrong } from "#contract/values.ts";
import { annotation, label, selector } from "./labels.ts";
import { limits, resources, standardLimits, standardRequests } from "./resources.ts";

/** Excludes nodes without a kubelet of their own: virtual-kubelet, KWOK, Fargate and Liqo. */
const withKubelet =
  "type notin (virtual-kubelet,kwok),eks.amazonaws.com/compute-type!=fargate,liqo.io/type!=virtual-node";

export const podFlags = {
  "agent-annotation": {
    read: annotation,
    repeated: true,
    what: "annotation of the agents' pods, KEY=VALUE",
  },
  "agent-image-pull-secret": {
    read: pullSecretName,
    repeated: true,
    what: "Secret in kube-system to pull the agents' image with (the controller's own, without --agent-image)",
  },
  "agent-label": { read: label, repeated: true, what: "label of the agents' pods, KEY=VALUE" },
  "agent-limits": {
    read: limits,
    standard: standardLimits,
    what: "resource limits of an agent; empty: no limits",
  },
  "agent-node-selector": {
    read: selector,
    standard: withKubelet,
    what: "label selector of the nodes that get an agent; empty: every Linux node",
  },
  "agent-priority-class": {
    read: priorityClass,
    standard: "system-node-critical",
    what: "PriorityClass of the agents; empty: the cluster's default",
  },
  "agent-requests": {
    read: resources,
    standard: standardRequests,
    what: "resource requests of an agent; empty: none",
  },
} as const satisfies Table;

type GivenFlags = TableValues<typeof podFlags>;

export function podOf(flagValues: GivenFlags): PodPolicy {
  return {
    labels: Object.fromEntries(flagValues["agent-label"]),
    annotations: Object.fromEntries(flagValues["agent-annotation"]),
    imagePullSecrets: flagValues["agent-image-pull-secret"],
    nodes: flagValues["agent-node-selector"],
    requests: flagValues["agent-requests"],
    limits: flagValues["agent-limits"],
    priorityClass: flagValues["agent-priority-class"],
  };
}

export function priorityClass(text: string): string | Wrong {
  return text === "" || dnsName.test(text)
    ? text
    : new Wrong("is not a valid PriorityClass name (example: system-node-critical)");
}

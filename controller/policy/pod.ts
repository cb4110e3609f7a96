/**
 * The agents' pods as the installer wants them. None of these fields restarts a kubelet: a change
 * replaces agents, and the new ones find their nodes as the old ones left them.
 */
import type { PodPolicy } from "./policy.ts";
import { dnsName, pullSecretName } from "./values.ts";
import type { Rule } from "#contract/flags.ts";
import type { Table, TableValues } from "#contract/table.ts";
import { Wrong } from "#contract/values.ts";
import { annotation, label, selector } from "./labels.ts";
import { beyond, limits, resources, standardLimits, standardRequests } from "./resources.ts";

/** Excludes nodes without a kubelet of their own: of virtual-kubelet, KWOK, Fargate, and Liqo. */
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
    what: "Secret in kube-system that the agents' image is pulled with (the controller's own, without --agent-image)",
  },
  "agent-label": { read: label, repeated: true, what: "label of the agents' pods, KEY=VALUE" },
  "agent-limits": {
    read: limits,
    standard: standardLimits,
    what: "what an agent may use at most; empty: no limits",
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
    what: "what is set aside for an agent; empty: nothing",
  },
} as const satisfies Table;

type GivenFlags = TableValues<typeof podFlags>;

export function podOf(given: GivenFlags): PodPolicy {
  return {
    labels: Object.fromEntries(given["agent-label"]),
    annotations: Object.fromEntries(given["agent-annotation"]),
    imagePullSecrets: given["agent-image-pull-secret"],
    nodes: given["agent-node-selector"],
    requests: given["agent-requests"],
    limits: given["agent-limits"],
    priorityClass: given["agent-priority-class"],
  };
}

/**
 * Refuses requests above limits: the API server would refuse the DaemonSet, and no node would have
 * an agent.
 */
export const requestsFit: Rule<typeof podFlags> = (given) => {
  const { "agent-requests": requests = {}, "agent-limits": most = {} } = given;
  const name = beyond(requests, most);
  return name === undefined
    ? undefined
    : `--agent-requests ${name}=${requests[name]}: is more than --agent-limits allow; ` +
        `give ${most[name]} or less`;
};

export function priorityClass(text: string): string | Wrong {
  return text === "" || dnsName.test(text)
    ? text
    : new Wrong("is no name of a PriorityClass; give one such as system-node-critical");
}

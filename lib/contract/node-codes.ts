/**
 * The reasons why a node does not have the wanted content, if the node's agent reports none. Each
 * reason has one code, which is in status.failures. The plugin shows the action.
 */
import type { Catalogue } from "./catalogue.ts";

/** Kind → code, problem, action. */
export const catalogue = {
  away: [
    "GPS334",
    "the node's kubelet does not answer",
    "on the node, see systemctl status kubelet, journalctl -u kubelet, and the agent's log with crictl",
  ],
  silent: [
    "GPS335",
    "the node was asked and did not answer in time",
    "see its agent's log, or systemctl status kubelet and journalctl -u kubelet on the node",
  ],
  notStarted: [
    "GPS336",
    "the node's agent does not start",
    "kubectl describe its pod; usually its image cannot be pulled, or the node has no room",
  ],
  leftBehind: [
    "GPS307",
    "the node has not confirmed the withdrawal and may keep the entries",
    "remove them from its kubelet's config.json, then kubectl delete nodepullsecret NODE -n kube-system",
  ],
  podless: [
    "GPS337",
    "the node has no agent pod",
    "find the reason with kubectl describe daemonset global-pull-secret-syncer -n kube-system; usually admission refuses the pod",
  ],
} as const satisfies Catalogue;

/** `GPS334 the node's kubelet does not answer`: the code and the problem, without the action. */
export function reasonOf(kind: keyof typeof catalogue): string {
  const [code, what] = catalogue[kind];
  return `${code} ${what}`;
}

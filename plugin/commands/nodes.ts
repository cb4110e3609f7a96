/** `nodes`: prints a line for each node. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import type { NodesStatus } from "#api/global-pull-secret.ts";
import type { NodePullSecret } from "#api/node-pull-secret.ts";
import { agentName } from "#contract/names.ts";
import { toggle } from "#contract/values.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { peekObject } from "../cluster/object.ts";
import { ifAllowed, listOf } from "../cluster/read.ts";
import { newestRevision, nodeRows, type NodeRow } from "../show/nodes.ts";
import { waitingText } from "../show/status.ts";
import { age, outputFlag, print, table } from "../terminal/output.ts";
import { command } from "../terminal/command.ts";
import type { ScreenIo } from "../terminal/io.ts";
import { paintFor, type Paint } from "../terminal/paint.ts";

export const nodes = command(
  {
    group: "see",
    what: "show each node: its revision, its agent's result, and why it waits",
    example: "",
    more:
      "Reads the NodePullSecrets and, if you have the right, the agents' pods in kube-system, the\n" +
      "GlobalPullSecret, and the labels of the Nodes. The role view is enough for all but the labels.\n" +
      "REVISION, RESULT and CODE are from the agent's last report. A node with an empty column WAITS\n" +
      "has the newest revision; the page Conditions and reasons explains the other words. With -o\n" +
      "json or yaml it prints a list of {node, revision, result, code, reason, message, since}.",
    flags: {
      waiting: { ...toggle, what: "only nodes that do not have the newest revision" },
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ output, waiting: onlyWaiting, ...how }, io) => {
    const cluster = await io.reach(how);
    const [objects, pods] = await Promise.all([
      unlessAbsent(listOf<NodePullSecret>(cluster, collections.nodePullSecrets)),
      ifAllowed(listOf<V1Pod>(cluster, collections.pods, agents), undefined),
    ]);
    const report = await reportOf(cluster, objects, pods);
    const rows = onlyWaiting ? report.all.filter(needsAttention) : report.all;
    await print(output, rows, (shown) => summary(shown, report, io), io);
    return 0;
  },
);

const agents = { labelSelector: `name=${agentName}` };

/** The list, or an empty list if the API server does not serve NodePullSecrets. */
async function unlessAbsent<T>(list: Promise<T[]>): Promise<T[]> {
  try {
    return await list;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return [];
    throw error;
  }
}

/** A node that waits, or that a withdrawal left behind. */
const needsAttention = ({ reason, message }: NodeRow): boolean =>
  reason !== undefined || message !== "";

type Report = Readonly<{
  all: readonly NodeRow[];
  newest: number;
  counts: NodesStatus | undefined;
}>;

/** Makes the rows of these nodes, without facts that the caller is not allowed to read. */
async function reportOf(
  cluster: Cluster,
  objects: readonly NodePullSecret[],
  pods: readonly V1Pod[] | undefined,
): Promise<Report> {
  const global = await peekObject(cluster);
  const counts = global?.status?.nodes;
  const isNeeded = counts?.waiting?.some(({ reason }) => reason === "ControlPlaneAtWork") === true;
  const labelled = { labelSelector: "node-role.kubernetes.io/control-plane" };
  const found = isNeeded
    ? await ifAllowed(listOf<V1Node>(cluster, collections.nodes, labelled), [])
    : [];
  const controlPlane = new Set(found.map(({ metadata }) => metadata?.name ?? ""));
  return {
    all: nodeRows({ objects, pods, global, controlPlane, now: Date.now() }),
    newest: newestRevision({ global, objects }),
    counts,
  };
}

/** The lines to print: the rows, and the controller's counts. */
function summary(
  shown: readonly NodeRow[],
  { all, newest, counts }: Report,
  io: ScreenIo,
): string[] {
  const current = all.filter(({ reason }) => reason === undefined).length;
  const { updated = current, desired = all.length } = counts ?? {};
  const more = desired - all.length;
  const waiting = counts === undefined ? "" : waitingText(counts);
  return [
    ...(shown.length === 0 && all.length > 0 ? [] : lines(shown, paintFor(io.colour))),
    ...(all.length === 0
      ? []
      : [`${updated} of ${desired} nodes have revision ${newest}${waiting && `; ${waiting}`}`]),
    ...(more > 0
      ? [`${more} more ${more === 1 ? "node has" : "nodes have"} no agent pod; ${whyNone}`]
      : []),
  ];
}

const whyNone = `kubectl describe daemonset ${agentName} -n kube-system shows why`;

function lines(rows: readonly NodeRow[], paint: Paint): string[] {
  if (rows.length === 0) return ["No agent runs; kubectl pull-secret status shows why."];
  const now = Date.now();
  const shown = rows.map((row) => {
    const { node, revision, result = "-", code = "", reason = "", message, since = "" } = row;
    const text = message.startsWith(code) ? message.slice(code.length) : message;
    const ago = age(since, now);
    return {
      isGood: !needsAttention(row),
      cells: [
        node,
        revision === undefined ? "-" : String(revision),
        result,
        code,
        reason,
        text.replace(/^:? */, "") + (ago === "" ? "" : ` (${ago} ago)`),
      ],
    };
  });
  return table(["NODE", "REVISION", "RESULT", "CODE", "WAITS", ""], shown, paint);
}

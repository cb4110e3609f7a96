/** `nodes`: prints a line for each node's agent, once or until you interrupt it. */
import type { V1Node, V1Pod } from "@kubernetes/client-node";
import { setTimeout as pause } from "node:timers/promises";
import { agentName, revisionAnnotation } from "#contract/names.ts";
import { toggle } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { followCollection } from "#kube/watch/collection.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { conditionOf } from "#kube/conditions.ts";
import { clusterFlags } from "../cluster/flags.ts";
import { peekObject } from "../cluster/object.ts";
import { ifAllowed, listOf } from "../cluster/read.ts";
import { nodeRows, type NodeRow, type ProbeEvent } from "../show/nodes.ts";
import { age, home, print, table, textOnly, watchFlags } from "../terminal/output.ts";
import { command } from "../terminal/command.ts";
import type { ScreenIo } from "../terminal/io.ts";
import { paintFor, type Paint } from "../terminal/paint.ts";

export const nodes = command(
  {
    group: "see",
    what: "show each node's agent: its revision, whether it is ready, and what it waits for",
    example: "-o json",
    more:
      "Reads the agents' pods in kube-system and the kubelets' Unhealthy Events about them. If you\n" +
      "have the right, it also reads the GlobalPullSecret, which lists nodes without an agent pod, and\n" +
      "the ten Nodes whose agents have not been ready for longest. A time in brackets shows how long\n" +
      "ago the reason was reported. With -o json or yaml it prints a list of\n" +
      "{node, pod, revision, ready, code, message, since}. --watch shows each change until you\n" +
      "interrupt it: it redraws on a terminal, and otherwise prints the changed lines.",
    flags: {
      "not-ready": { ...toggle, what: "only nodes whose agent is not ready" },
      ...watchFlags,
      ...clusterFlags,
    },
    rules: [textOnly],
  },
  async ({ output, watch, "not-ready": onlyNotReady, ...how }, io) => {
    const cluster = await io.reach(how);
    const select = (all: readonly NodeRow[]) =>
      onlyNotReady ? all.filter(({ ready }) => !ready) : all;
    if (watch) {
      await watchNodes(cluster, select, io);
      return 0;
    }
    const { all, desired } = await find(
      cluster,
      await listOf<V1Pod>(cluster, collections.pods, query),
    );
    await print(output, select(all), (shown) => summary(shown, all, desired, io), io);
    return 0;
  },
);

const query = { labelSelector: `name=${agentName}` };
const unhealthy = { fieldSelector: "reason=Unhealthy" };

/** The rows, and how many agents there should be in total. */
type Found = Readonly<{ all: readonly NodeRow[]; desired: number }>;

/** Makes the rows of these pods, without facts that the caller is not allowed to read. */
async function find(cluster: Cluster, pods: readonly V1Pod[]): Promise<Found> {
  const late = notReadyLongest(pods);
  // We read Events only if an agent is not ready: the Events show why.
  const [object, events, nodes] = await Promise.all([
    peekObject(cluster),
    late.length === 0 ? [] : listOf<ProbeEvent>(cluster, collections.events, unhealthy),
    Promise.all(
      late.map((name) => ifAllowed(cluster.get<V1Node>(`${collections.nodes}/${name}`), undefined)),
    ),
  ]);
  const { failures = [], nodes: counted } = object?.status ?? {};
  return {
    all: nodeRows({ pods, events, failures, nodes: nodes.flatMap((node) => node ?? []) }),
    desired: counted?.desired ?? 0,
  };
}

/**
 * Maximum number of Nodes to read. A fault usually affects fewer nodes, but during a rollout many
 * more agents are not ready.
 */
const mostNodes = 10;

/** Names of the nodes whose agents turned NotReady first. */
function notReadyLongest(pods: readonly V1Pod[]): readonly string[] {
  const at = ({ status }: V1Pod) => String(conditionOf(status, "Ready")?.lastTransitionTime ?? "");
  return pods
    .filter(({ status }) => conditionOf(status, "Ready")?.status !== "True")
    .toSorted((a, b) => at(a).localeCompare(at(b)))
    .flatMap(({ spec }) => spec?.nodeName ?? [])
    .slice(0, mostNodes);
}

/**
 * The lines to print: the rows, how many of the agents are ready, and how many nodes have no agent.
 */
function summary(
  shown: readonly NodeRow[],
  all: readonly NodeRow[],
  desired: number,
  io: ScreenIo,
): string[] {
  const ready = all.filter((row) => row.ready).length;
  const more = desired - all.length;
  return [
    ...(shown.length === 0 && all.length > 0 ? [] : lines(shown, paintFor(io.terminal))),
    ...(all.length === 0 ? [] : [`${ready} of ${all.length} agents are ready`]),
    ...(more > 0
      ? [`${more} more ${more === 1 ? "node has" : "nodes have"} no agent; ${whyNone}`]
      : []),
  ];
}

const whyNone = `kubectl describe daemonset ${agentName} -n kube-system shows why`;

/** Minimum milliseconds between two reads. During a rollout every pod changes several times. */
const pauseMilliseconds = 1000;

/** Shows the rows again at each change, until `signal` aborts. */
async function watchNodes(
  cluster: Cluster,
  select: (all: readonly NodeRow[]) => readonly NodeRow[],
  io: ScreenIo,
): Promise<void> {
  const { signal } = io;
  const informer = new CollectionInformer(trimPod);
  let shown = new Map<string, string>();
  const look = async (): Promise<void> => {
    const pods = [...informer.view.items.values()];
    const { all, desired } = await find(cluster, pods);
    const rows = select(all);
    // If the kubelet repeats an Event, only the time changes. We do not print this change.
    const now = new Map(rows.map((row) => [row.node, JSON.stringify({ ...row, since: "" })]));
    const isChanged = ({ node }: NodeRow) => shown.get(node) !== now.get(node);
    const changed = rows.filter(isChanged);
    const isSame = changed.length === 0 && now.size === shown.size;
    if (signal.aborted || (isSame && all.length > 0)) return;
    shown = now;
    if (io.terminal === undefined)
      await print("text", changed, (some) => lines(some, paintFor(undefined)).slice(1), io);
    else {
      io.out(home);
      await print("text", rows, (some) => summary(some, all, desired, io), io);
    }
  };
  let last = Promise.resolve();
  let isDue = false;
  const failed = (error: Error) => io.err(error.message);
  const hint = (): void => {
    if (isDue) return;
    isDue = true;
    last = last.then(async () => {
      isDue = false;
      await look().catch(failed);
      // This rejects only if `signal` aborts.
      await pause(pauseMilliseconds, undefined, { signal }).catch(() => {});
    });
  };
  const path = collections.pods;
  await followCollection<V1Pod>({ cluster, path, query, informer, hint, failed, signal });
  await last;
}

/** The fields of a pod that we show. 5,000 whole pods would take 50 MB. */
function trimPod(object: V1Pod): V1Pod {
  const { name, uid, annotations = {} } = object.metadata ?? {};
  const { conditions = [], containerStatuses = [] } = object.status ?? {};
  const revision = annotations[revisionAnnotation];
  const { nodeName } = object.spec ?? {};
  return structuredClone({
    metadata: {
      ...(name !== undefined && { name }),
      ...(uid !== undefined && { uid }),
      ...(revision !== undefined && { annotations: { [revisionAnnotation]: revision } }),
    },
    spec: { containers: [], ...(nodeName !== undefined && { nodeName }) },
    status: { conditions, containerStatuses },
  });
}

function lines(rows: readonly NodeRow[], paint: Paint): string[] {
  if (rows.length === 0) return ["No agent runs; kubectl pull-secret status shows why."];
  const now = Date.now();
  const shown = rows.map(({ node, pod, revision, ready, code = "", message, since = "" }) => ({
    isGood: ready,
    cells: [
      node,
      revision === undefined ? (pod === "" ? "-" : "?") : String(revision),
      ready ? "yes" : "no",
      code,
      (code !== "" && message.startsWith(code) ? message.slice(code.length).trim() : message) +
        (age(since, now) === "" ? "" : ` (${age(since, now)} ago)`),
    ],
  }));
  return table(["NODE", "REVISION", "READY", "CODE", ""], shown, paint);
}

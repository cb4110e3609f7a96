/** `nodes`: a line for each node's agent, once or until you interrupt it. */
import type { V1Pod } from "@kubernetes/client-node";
import { setTimeout as pause } from "node:timers/promises";
import { agentName, revisionAnnotation } from "#contract/names.ts";
import { toggle } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { followCollection } from "#kube/watch/collection.ts";
import { CollectionInformer } from "#kube/watch/informer.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { nodeRows, type NodeRow, type ProbeEvent } from "#plugin/show/nodes.ts";
import { columns } from "#plugin/terminal/columns.ts";
import { command } from "#plugin/terminal/command.ts";
import type { Io } from "#plugin/terminal/io.ts";
import { home, outputFlag, print } from "#plugin/terminal/output.ts";
import { paintFor, type Paint } from "#plugin/terminal/paint.ts";

export const nodes = command(
  {
    group: "see",
    what: "show each node's agent: its revision, whether it is ready, and what it waits for",
    example: "-o json",
    more:
      "Reads the agents' pods in kube-system and the kubelets' Unhealthy Events about them. With -o\n" +
      "json or yaml it prints a list of {node, pod, revision, ready, code, message}. --watch shows\n" +
      "each change until you interrupt it: it redraws on a terminal, and otherwise prints the\n" +
      "changed lines.",
    flags: {
      "not-ready": { ...toggle, what: "only nodes whose agent is not ready" },
      watch: { ...toggle, short: "w", what: "go on showing changes" },
      ...outputFlag,
      ...clusterFlags,
    },
    rules: [
      ({ watch, output }) =>
        watch === true && output !== undefined && output !== "text"
          ? "--watch: shows text only; leave out --output"
          : undefined,
    ],
  },
  async ({ output, watch, "not-ready": onlyNotReady, ...how }, io) => {
    const cluster = await io.reach(how);
    const wanted = (all: readonly NodeRow[]) =>
      onlyNotReady ? all.filter(({ ready }) => !ready) : all;
    if (watch) {
      await watchNodes(cluster, wanted, io);
      return 0;
    }
    const [pods, events] = await Promise.all([
      listOf<V1Pod>(cluster, collections.pods, query),
      listOf<ProbeEvent>(cluster, collections.events, unhealthy),
    ]);
    const all = nodeRows(pods, events);
    await print(output, wanted(all), (shown) => table(shown, all, io), io);
    return 0;
  },
);

const query = { labelSelector: `name=${agentName}` };
const unhealthy = { fieldSelector: "reason=Unhealthy" };

/** The rows, the number of ready agents and the number of all agents. */
function table(shown: readonly NodeRow[], all: readonly NodeRow[], io: Io): string[] {
  const ready = all.filter((one) => one.ready).length;
  return [
    ...(shown.length === 0 && all.length > 0 ? [] : lines(shown, paintFor(io.terminal))),
    ...(all.length === 0 ? [] : [`${ready} of ${all.length} agents are ready`]),
  ];
}

/** Minimum milliseconds between two reads. During a rollout every pod changes several times. */
const pauseMilliseconds = 1000;

/** Shows the rows at each change, until the signal aborts. */
async function watchNodes(
  cluster: Cluster,
  wanted: (all: readonly NodeRow[]) => readonly NodeRow[],
  io: Io,
): Promise<void> {
  const { signal } = io;
  const informer = new CollectionInformer(kept);
  let shown = new Map<string, string>();
  const look = async (): Promise<void> => {
    const pods = [...informer.view.items.values()];
    // We need Events only for agents that are not ready: they show the reason.
    const events = nodeRows(pods, []).every(({ ready }) => ready)
      ? []
      : await listOf<ProbeEvent>(cluster, collections.events, unhealthy);
    const all = nodeRows(pods, events);
    const rows = wanted(all);
    const now = new Map(rows.map((row) => [row.node, JSON.stringify(row)]));
    const isChanged = ({ node }: NodeRow) => shown.get(node) !== now.get(node);
    const changed = rows.filter(isChanged);
    const isSame = changed.length === 0 && now.size === shown.size;
    if (signal.aborted || (isSame && all.length > 0)) return;
    shown = now;
    if (io.terminal === undefined)
      await print("text", changed, (some) => lines(some, paintFor(undefined)).slice(1), io);
    else {
      io.out(home);
      await print("text", rows, (some) => table(some, all, io), io);
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
      // Rejects only if it is aborted.
      await pause(pauseMilliseconds, undefined, { signal }).catch(() => {});
    });
  };
  const path = collections.pods;
  await followCollection<V1Pod>({ cluster, path, query, informer, hint, failed, signal });
  await last;
}

/** The fields of a pod that we show. 5,000 whole pods would take 50 MB. */
function kept(object: V1Pod): V1Pod {
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

async function listOf<T>(
  cluster: Cluster,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<T[]> {
  const found: T[] = [];
  await cluster.pages<T>(path, query, (items) => void found.push(...items));
  return found;
}

function lines(rows: readonly NodeRow[], paint: Paint): string[] {
  if (rows.length === 0) return ["No agent runs: nothing is deployed, or nothing is declared."];
  const cells = rows.map(({ node, revision, ready, code = "", message }) => [
    node,
    revision === undefined ? "?" : String(revision),
    ready ? "yes" : "no",
    code,
    code !== "" && message.startsWith(code) ? message.slice(code.length).trim() : message,
  ]);
  const [head = "", ...body] = columns([["NODE", "REVISION", "READY", "CODE", ""], ...cells]);
  return [
    paint.strong(head),
    ...body.map((line, at) => (rows[at]?.ready === true ? line : paint.doubt(line))),
  ];
}

/** `nodes`: a line for each node's agent. */
import type { V1Pod } from "@kubernetes/client-node";
import { agentName } from "#contract/names.ts";
import { toggle } from "#contract/values.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { nodeRows, type NodeRow, type ProbeEvent } from "#plugin/show/nodes.ts";
import { columns } from "#plugin/terminal/columns.ts";
import { command } from "#plugin/terminal/command.ts";
import { outputFlag, print } from "#plugin/terminal/output.ts";
import { paintFor, type Paint } from "#plugin/terminal/paint.ts";

export const nodes = command(
  {
    group: "see",
    what: "show each node's agent: its revision, whether it is ready, and what it waits for",
    example: "-o json",
    more:
      "Reads the agents' pods in kube-system and the kubelets' Unhealthy Events about them. With\n" +
      "-o json or yaml it prints a list of {node, pod, revision, ready, code, message}.",
    flags: {
      "not-ready": { ...toggle, what: "only nodes whose agent is not ready" },
      ...outputFlag,
      ...clusterFlags,
    },
  },
  async ({ output, "not-ready": onlyNotReady, ...how }, io) => {
    const cluster = await io.reach(how);
    const [pods, events] = await Promise.all([
      listOf<V1Pod>(cluster, collections.pods, { labelSelector: `name=${agentName}` }),
      listOf<ProbeEvent>(cluster, collections.events, { fieldSelector: "reason=Unhealthy" }),
    ]);
    const all = nodeRows(pods, events);
    const rows = onlyNotReady ? all.filter(({ ready }) => !ready) : all;
    const ready = all.filter((one) => one.ready).length;
    const text = (shown: readonly NodeRow[]) => [
      ...(shown.length === 0 && all.length > 0 ? [] : lines(shown, paintFor(io.terminal))),
      ...(all.length === 0 ? [] : [`${ready} of ${all.length} agents are ready`]),
    ];
    await print(output, rows, text, io);
    return 0;
  },
);

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

/** Times at which kubelets stopped and started, from systemd's messages in the nodes' journals. */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { run } from "../cluster/run.ts";

/**
 * One restart of a kubelet. `down` and `up` are milliseconds since 1970. All nodes of a test share
 * the machine's clock.
 */
export type Restart = Readonly<{ node: string; down: number; up: number }>;

/** Message ids of systemd's journal catalogue: a unit begins to stop, has stopped, has started. */
const stopping = "de5b426a63be47a7b6ac3eaac82e2f6f";
const stopped = "9d1aaa27d60140bd96365438aad20286";
const started = "39f53479d3a045ac8e11786248231fbf";
/** A process of the unit ended by itself. */
const exited = "98e322203f7a4ed290d09fe03c09fe15";

/**
 * The restarts of all nodes' kubelets that began after `since` (milliseconds since 1970), in the
 * order in which they began.
 */
export async function restarts(cluster: Cluster, since: number): Promise<Restart[]> {
  const all = await Promise.all(cluster.nodes.map((node) => restartsOf(node, since)));
  return all.flat().toSorted((a, b) => a.down - b.down);
}

async function restartsOf(node: Node, since: number): Promise<Restart[]> {
  const ids = [stopping, stopped, started, exited].map((id) => `MESSAGE_ID=${id}`);
  const text = await run([
    "journalctl",
    `--directory=${join(node.rootfs, "var/log/journal")}`,
    "--output=json",
    "UNIT=kubelet.service",
    ...ids,
  ]);
  const observed: Restart[] = [];
  let down: number | undefined;
  for (const line of text.split("\n").filter(Boolean)) {
    const entry = JSON.parse(line) as { MESSAGE_ID: string; __REALTIME_TIMESTAMP: string };
    const at = Number(entry.__REALTIME_TIMESTAMP) / 1000;
    if (at < since) continue;
    if (entry.MESSAGE_ID !== started) down ??= at;
    else if (down !== undefined) {
      observed.push({ node: node.name, down, up: at });
      down = undefined;
    }
  }
  if (down !== undefined) observed.push({ node: node.name, down, up: Number.POSITIVE_INFINITY });
  return observed;
}

/**
 * The largest number of kubelets that were at the same time unproved: down, or up for less than
 * `probation` milliseconds.
 */
export function mostAtOnce(all: readonly Restart[], probation: number): number {
  return Math.max(
    0,
    ...all.map(
      ({ down }) => all.filter((other) => other.down <= down && down < other.up + probation).length,
    ),
  );
}

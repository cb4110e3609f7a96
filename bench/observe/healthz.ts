/** Records when a node's kubelet answers healthz and when it does not, accurate to 10 ms. */
import { spawn, type ChildProcess } from "node:child_process";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { until } from "#test/cluster/await.ts";
import type { Cluster } from "#test/cluster/cluster.ts";
import { inNamespace, networkOf } from "#test/cluster/host/network.ts";
import type { Node } from "#test/cluster/node.ts";

const everyMilliseconds = 10;

type Change = Readonly<{ up: boolean; at: number }>;

export class Healthz implements Disposable {
  readonly #changes: Change[] = [];
  readonly #child: ChildProcess;

  constructor(cluster: Cluster, node: Node) {
    const poll = [
      process.execPath,
      join(import.meta.dirname, "healthz-poll.ts"),
      String(everyMilliseconds),
    ];
    const [program = "", ...args] = inNamespace(networkOf(slotOf(cluster)), node.name, poll);
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
    if (this.#child.stdout === null) throw new Error("a pipe was asked for");
    createInterface(this.#child.stdout).on("line", (line) => {
      const [state, at] = line.split(" ");
      this.#changes.push({ up: state === "up", at: Number(at) });
    });
  }

  /**
   * Waits until the kubelet answers again after a silence that began at `since` or later. Returns
   * the time of that answer.
   */
  async backAfter(since: number): Promise<number> {
    const { at } = await until("healthz was silent and answers again", () => this.#back(since), {
      timeout: 120_000,
      every: 5,
    });
    return at;
  }

  /** Milliseconds without an answer from `since` on. */
  silence(since: number): number {
    const changes = this.#changes.filter(({ at }) => at >= since);
    return changes.reduce((sum, { up, at }, index) => {
      const before = changes[index - 1];
      return up && before !== undefined ? sum + at - before.at : sum;
    }, 0);
  }

  /** The start of the kubelet's first silence from `since` on. */
  downAt(since: number): number | undefined {
    return this.#changes.find(({ up, at }) => !up && at >= since)?.at;
  }

  [Symbol.dispose](): void {
    this.#child.kill("SIGKILL");
  }

  #back(since: number): Change | undefined {
    const down = this.#changes.findIndex(({ up, at }) => !up && at >= since);
    return down < 0 ? undefined : this.#changes.slice(down).find(({ up }) => up);
  }
}

/** The slot of a test cluster: a number, by which its directory is named. */
export function slotOf(cluster: Cluster): number {
  return Number(basename(cluster.directory));
}

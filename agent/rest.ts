/**
 * At rest a look would find what the last one found, as long as nothing that it reads has changed: four calls instead of
 * reading and parsing up to 3 MiB twice a minute on every node.
 */
import { readlinkSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "../contract/names.ts";
import type { Config } from "./config.ts";
import { identify } from "./replace.ts";
import { Steady } from "./steady.ts";
import type { Step } from "./step.ts";

/**
 * Milliseconds for which everything must have stood still before a look is trusted for longer: two writes within one tick of
 * the file system's clock (up to 10 ms; 2 s on some file systems) leave the same times.
 */
const trusted = 10_000;

export class Rest {
  readonly #config: Pick<Config, "secretDirectory" | "kubeletDirectory">;
  #resting: Readonly<{ state: string; step: Step }> | undefined;
  readonly #steady: Steady;
  /** Whether the last look read nothing. */
  rests = false;

  constructor(config: Pick<Config, "secretDirectory" | "kubeletDirectory">, clock: () => number) {
    this.#config = config;
    this.#steady = new Steady(clock);
  }

  /** The step that `decide` answers, or the last one, if that was to do nothing, nothing has changed and the kubelet is `alive`. */
  async next(decide: () => Promise<Step>, alive: () => Promise<boolean>): Promise<Step> {
    // Before the look: what changes meanwhile makes the next one a whole one.
    const state = this.#state();
    const stood = this.#steady.held("state", state);
    const resting = this.#resting;
    this.rests = false;
    if (resting !== undefined && resting.state === state && (await alive())) {
      this.rests = true;
      return resting.step;
    }
    const step = await decide();
    const settled = step.action === "nothing" && state !== undefined && stood >= trusted;
    this.#resting = settled ? { state, step } : undefined;
    return step;
  }

  /** Undefined where a Secret is not mounted as the kubelet does: its files may change under the same name. */
  #state(): string | undefined {
    const { secretDirectory, kubeletDirectory } = this.#config;
    const files = [nodeFiles.config, nodeFiles.folder, nodeFiles.journal];
    try {
      const mounted = readlinkSync(join(secretDirectory, "..data"));
      return [mounted, ...files.map((name) => identify(join(kubeletDirectory, name)))].join(" ");
    } catch {
      return undefined;
    }
  }
}

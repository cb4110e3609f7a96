/**
 * What a person sees of the demo: numbered steps with elapsed times, checked claims, and one live
 * line.
 */
import { performance } from "node:perf_hooks";
import type { WriteStream } from "node:tty";

/** Thrown when a claim does not hold; its message is the claim and what was seen instead. */
export class ClaimFailed extends Error {}

export class Narrator {
  readonly #out: WriteStream | NodeJS.WritableStream;
  readonly #live: boolean;
  readonly #start = performance.now();
  #step = 0;
  #liveLine = "";

  /**
   * Writes to `out`; the live line is redrawn on a terminal and printed once per change elsewhere.
   */
  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.#live = out.isTTY;
  }

  /** Starts the next numbered step. */
  step(title: string): void {
    this.#step += 1;
    this.#print(`\n${this.#step}. ${title}`);
  }

  /** One line below the current step. */
  say(text: string): void {
    for (const line of text.trimEnd().split("\n")) this.#print(`   ${line}`);
  }

  /**
   * A claim that was checked: printed with a tick, or thrown as ClaimFailed with what was seen
   * instead.
   */
  claim(text: string, holds: boolean, seen?: string): void {
    if (!holds) throw new ClaimFailed(seen === undefined ? text : `${text}; seen: ${seen}`);
    this.#print(`   ✓ ${text}`);
  }

  /** Replaces the live line; the same text twice is shown once. */
  live(text: string): void {
    if (text === this.#liveLine) return;
    this.#liveLine = text;
    const line = `   … ${text}`;
    this.#out.write(this.#live ? `\r\u001B[K${this.#clock()}${line}` : `${this.#clock()}${line}\n`);
  }

  #print(line: string): void {
    if (this.#live && this.#liveLine !== "") this.#out.write("\n");
    this.#liveLine = "";
    const gap = line.startsWith("\n") ? "\n" : "";
    this.#out.write(`${gap}${this.#clock()}${line.slice(gap.length)}\n`);
  }

  #clock(): string {
    return `${((performance.now() - this.#start) / 1000).toFixed(1).padStart(6)} s  `;
  }
}

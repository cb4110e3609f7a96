/**
 * Prints the demo: numbered steps with elapsed times, checked claims, and one live line that shows
 * progress.
 */
import { performance } from "node:perf_hooks";
import type { WriteStream } from "node:tty";
import { lines, type KeyOf } from "./script.ts";

/** Thrown when a claim does not hold. Its message is the claim and the actual state. */
export class ClaimFailed extends Error {}

/** Thrown when the demo cannot begin. Its message tells the user what to do. */
export class Refused extends Error {}

type Key = keyof typeof lines;

export class Narrator {
  readonly #out: WriteStream | NodeJS.WritableStream;
  readonly #live: boolean;
  readonly #start = performance.now();
  readonly #script: Iterator<Key>;
  #step = 0;
  #liveLine = "";
  /** The lines of the script, as they were printed, without their times. */
  readonly reported: string[] = [];

  /**
   * Writes these lines to `out`. On a terminal the narrator redraws the live line. Elsewhere it
   * prints each change of this line as a new line.
   */
  constructor(out: WriteStream | NodeJS.WritableStream, script: readonly Key[]) {
    this.#script = script.values();
    this.#out = out;
    this.#live = "isTTY" in out && out.isTTY;
  }

  step(key: KeyOf<"step">): void {
    this.#step += 1;
    this.#report(`${this.#step}. ${this.#next(key)}`, "\n");
  }

  writeLine(text: string): void {
    for (const line of text.trimEnd().split("\n")) this.#print(`   ${line}`);
  }

  /**
   * Prints a claim with a tick if the claim holds. If not, throws ClaimFailed with the actual
   * state, which is `seen`. `values` fill the placeholders in the script's line.
   */
  claim(
    key: KeyOf<"claim">,
    holds: boolean,
    { seen, ...values }: Readonly<Record<string, string | undefined>> = {},
  ): void {
    const text = this.#next(key).replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "?");
    if (!holds) throw new ClaimFailed(seen === undefined ? text : `${text}; seen: ${seen}`);
    this.#report(`   ✓ ${text}`);
  }

  /** Throws unless every line of the script was printed. */
  end(): void {
    const { value } = this.#script.next();
    if (value !== undefined) throw new Error(`the demo ends before line "${value}" of script.ts`);
  }

  /** Replaces the live line. Ignores the same text a second time. */
  live(text: string): void {
    if (text === this.#liveLine) return;
    this.#liveLine = text;
    const line = `   … ${text}`;
    this.#out.write(this.#live ? `\r\u001B[K${this.#clock()}${line}` : `${this.#clock()}${line}\n`);
  }

  /** Returns the script's next line. Throws if the next line has another key. */
  #next(key: Key): string {
    const { value } = this.#script.next();
    if (value !== key) throw new Error(`script.ts has "${value}" here, not "${key}"`);
    return lines[key].text;
  }

  #report(text: string, gap = ""): void {
    this.#print(text, gap);
    this.reported.push(text);
  }

  #print(text: string, gap = ""): void {
    if (this.#live && this.#liveLine !== "") this.#out.write("\n");
    this.#liveLine = "";
    this.#out.write(`${gap}${this.#clock()}${text}\n`);
  }

  #clock(): string {
    return `${((performance.now() - this.#start) / 1000).toFixed(1).padStart(6)} s  `;
  }
}

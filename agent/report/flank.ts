/**
 * Readiness as proof of a grant. The controller calls a node served when its pod is Ready with
 * another transition time than the grant's `since`. So the kubelet must have seen the agent unready
 * since it has the grant, in another second than `since`: transition times have no fractions.
 */
import { keyOf } from "#contract/grant.ts";
import type { GrantReading } from "../delivery/volume.ts";
import { type Code, codes } from "../facts/problems.ts";
import { fast, type Step, wait } from "../facts/step.ts";

/**
 * States in which the kubelet that probed us may have ended: only an answer to its successor
 * counts.
 */
const restarts: ReadonlySet<Code> = new Set([
  codes.restartOwed,
  codes.restarting,
  codes.kubeletFailed,
  codes.notBack,
  codes.restored,
  codes.stillDown,
  codes.kubeletSilent,
]);

export class Flank {
  readonly #now: () => number;
  #key: string | undefined;
  #answered = false;

  /** `now`: wall clock, milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The kubelet, or who else probes, was answered that we are not ready. Returns whether that is
   * news.
   */
  answeredUnready(): boolean {
    const isNews = !this.#answered;
    this.#answered = true;
    return isNews;
  }

  /** Returns the step, or a wait in its place until the kubelet has seen the agent unready. */
  instead(step: Step, grant: GrantReading): Step {
    const given = typeof grant === "string" ? undefined : grant;
    const key = given && keyOf(given);
    if (grant !== "unread" && key !== this.#key) {
      this.#key = key;
      this.#answered = false;
    }
    if (restarts.has(step.code)) this.#answered = false;
    if (!step.ready || given === undefined) return step;
    // Of a text that is no time, no second is known.
    const since = Math.floor(Date.parse(given.since) / 1000);
    const isSameSecond = since === Math.floor(this.#now() / 1000);
    return this.#answered && !isSameSecond ? step : wait(codes.unseen, fast);
  }
}

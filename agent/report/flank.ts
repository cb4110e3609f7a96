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

/** Seconds; it probes every second, and a starved node is given a minute. */
const noticedWithin = 60;

export class Flank {
  readonly #now: () => number;
  #key: string | undefined;
  #answered = false;
  #isRestarting = false;

  /** `now`: wall clock, milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The kubelet, or who else probes, was answered that we are not ready. Returns whether that is
   * news. From the decision to restart a kubelet to the next look the old one may still ask.
   */
  answeredUnready(): boolean {
    if (this.#answered || this.#isRestarting) return false;
    this.#answered = true;
    return true;
  }

  /** Returns the step, or a wait in its place until the kubelet has seen the agent unready. */
  instead(step: Step, grant: GrantReading): Step {
    const given = typeof grant === "string" ? undefined : grant;
    const key = given && keyOf(given);
    if (grant !== "unread" && key !== this.#key) {
      this.#key = key;
      this.#answered = false;
    }
    // An unfit node that waits for a grant is Ready although its healthz is silent.
    this.#isRestarting = restarts.has(step.code) && !step.ready;
    if (this.#isRestarting) this.#answered = false;
    if (!step.ready || given === undefined) return step;
    return this.#answered && !this.#mayEqual(given.since) ? step : wait(codes.unseen, fast);
  }

  /**
   * Whether the kubelet, which notices within a minute that we are ready, might note the very
   * second of `since`. A clock that was set back further would take hours to pass it, and cannot
   * meet it. Of a text that is no time, no second is known.
   */
  #mayEqual(since: string): boolean {
    const ahead = Math.floor(Date.parse(since) / 1000) - Math.floor(this.#now() / 1000);
    return ahead >= 0 && ahead < noticedWithin;
  }
}

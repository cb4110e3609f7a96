/**
 * A simulated kubelet and its systemd unit. The kubelet can need minutes to start, die while it
 * starts, hang, or live without an answer of healthz. systemd restarts it always, twice, or never.
 * After the second restart its start limit is reached: it starts nothing until the limit is reset.
 * No code of the product.
 */
import { law } from "./laws.ts";

export const restartPolicies = ["always", "some", "none"] as const;

type State = "starting" | "alive" | "auto-restart" | "dead";

const autoRestartAfter = 10_000;

export class Kubelet {
  now = 2e6;
  policy: (typeof restartPolicies)[number] = "always";
  /** Type=notify: systemd reports a start until the kubelet works. */
  isNotifying = false;
  /** Milliseconds from a start until it works. */
  startMs = 300;
  brokenUntil = 0;
  /** It lives, but does not answer. */
  isWedged = false;
  state: State = "alive";
  invocation = 1;
  since = 0;
  isLimited = false;
  /** Restarts by systemd since the last request. */
  autos = 0;
  /** Requested restarts: those of a change, and those after a rollback. */
  asks = 0;
  revivals = 0;
  /** Processes that the file stopped. */
  deaths = 0;
  leaseRenewed = 0;
  /** Whether the file that is in place stops a kubelet. */
  isDeadly: () => boolean = () => false;
  started: () => void = () => {};
  #worksAt = 0;
  #activeAt = 0;
  #isDeadly = false;
  #diesAt = Number.POSITIVE_INFINITY;
  #autoAt = 0;
  #lastRevival = Number.NEGATIVE_INFINITY;

  get works(): boolean {
    return this.state === "alive" && this.now >= this.#worksAt && !this.isWedged;
  }

  pass(milliseconds: number): void {
    const end = this.now + milliseconds;
    while (this.now < end) {
      const next = this.nextEvent;
      this.now = Math.min(end, Math.max(next, this.now));
      if (this.state === "starting" && this.now >= this.#activeAt) this.state = "alive";
      if (this.now >= next) this.#happen();
    }
    if (this.works) this.leaseRenewed = this.now;
  }

  /** When the process dies, or systemd starts it again. */
  get nextEvent(): number {
    if (this.state === "auto-restart") return this.#autoAt;
    return this.state === "dead" ? Number.POSITIVE_INFINITY : this.#diesAt;
  }

  #happen(): void {
    if (this.state === "auto-restart") return this.start(true);
    if (this.#isDeadly) this.deaths += 1;
    const isRestarted = this.policy === "always" || (this.policy === "some" && this.autos < 2);
    this.state = isRestarted ? "auto-restart" : "dead";
    this.isLimited = this.policy === "some" && !isRestarted;
    this.#autoAt = this.now + autoRestartAfter;
  }

  /** A new process. `isAuto`: systemd starts it by itself. */
  start(isAuto: boolean): void {
    this.isLimited = false;
    this.#isDeadly = this.isDeadly();
    const dies = this.#isDeadly || this.now < this.brokenUntil;
    this.invocation += 1;
    this.state = this.isNotifying ? "starting" : "alive";
    this.since = this.now;
    this.#worksAt = this.#activeAt = this.now + this.startMs;
    this.#diesAt = dies ? this.now + (this.invocation % 2 ? 900 : 3100) : Number.POSITIVE_INFINITY;
    this.autos = isAuto ? this.autos + 1 : 0;
    this.started();
  }

  /** RestartUnit, requested by the agent in a phase of its journal. */
  request(phase: string): void {
    law(this.state !== "auto-restart", "the agent restarts what systemd is about to start");
    law(this.state !== "starting", "the agent restarts what systemd starts");
    const isStarting = this.state === "alive" && this.now < this.#worksAt;
    law(!isStarting, "a living kubelet is killed while it starts");
    law(this.state === "dead" || phase === "restarting", "a kubelet is restarted outside a change");
    if (phase === "reviving") {
      law(this.now - this.#lastRevival >= 10_000, "revivals without a pause");
      this.revivals += 1;
      this.#lastRevival = this.now;
    } else this.asks += 1;
    if (!this.isLimited) this.start(false);
  }
}

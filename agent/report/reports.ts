/**
 * Gives the node's reports. Each round hands over what is true now. The connection to the API
 * server sends it until it is accepted, and does not repeat what the object already has.
 */
import { belongsTo, keyOf, type Report, type Result } from "#contract/order.ts";
import type { PublishedMode } from "#contract/names.ts";
import type { Api, NewReport, Own } from "../api/api.ts";
import { activeOrder } from "../facts/order.ts";
import { codes, formatLine, type Step, wait } from "../facts/step.ts";
import type { Observed } from "../facts/facts.ts";

/** Milliseconds. A shorter refusal is not reported, because the reason might disappear. */
const refusalLasts = 10_000;

type Inputs = Readonly<{
  api: Api;
  mode: PublishedMode;
  version: string;
  /**
   * When the kubelet's present process was started, in milliseconds since 1970; undefined if
   * systemd does not report it.
   */
  kubeletStarted: () => Promise<number | undefined>;
  /** Milliseconds that never jump. */
  clock: () => number;
}>;

export class Reports {
  readonly #inputs: Inputs;
  /** The order that is being refused, and since when. */
  #refusal: Readonly<{ key: string; since: number }> | undefined;

  constructor(inputs: Inputs) {
    this.#inputs = inputs;
  }

  /** Reports the result of the step, if it has one. Returns the step, or a wait for the proof. */
  async give(step: Step, observed: Observed): Promise<Step> {
    const { own } = this.#inputs.api.seen();
    const result = "result" in step ? step.result : undefined;
    // A write that is tried, and fails again, does not end a refusal.
    const isIdle = step.action === "wait" || step.action === "nothing";
    if (isIdle && result !== "Refused") this.#refusal = undefined;
    if (typeof own === "string" || result === undefined) return step;
    const content = contentOf(result, observed, own);
    if (content === undefined) return step;
    if (result === "Refused") {
      const remaining = this.#refusalEnds(keyOf(content)) - this.#inputs.clock();
      if (remaining > 0) return sooner(step, remaining);
    }
    const report = this.#reportOf(step, result, content);
    const isNew = own.report?.result !== result || !belongsTo(content, own.report ?? "none");
    if (result === "Proved" && isNew && !(await this.#isKubeletBack()))
      return wait(codes.leaseNotRenewed, "back off");
    this.#inputs.api.report(report);
    return step;
  }

  #reportOf({ code, detail }: Step, result: Result, content: Content): NewReport {
    const { mode, version } = this.#inputs;
    return { ...content, result, code, message: formatLine(code, detail), mode, version };
  }

  /** When the present refusal of this order will have lasted long enough. */
  #refusalEnds(key: string): number {
    if (this.#refusal?.key !== key) this.#refusal = { key, since: this.#inputs.clock() };
    return this.#refusal.since + refusalLasts;
  }

  /**
   * Whether the present process of the kubelet works with the API server. Only the kubelet renews
   * the node's Lease, which it does within a second of its start and then every ten seconds.
   */
  async #isKubeletBack(): Promise<boolean> {
    if (this.#inputs.mode !== "Restart") return true;
    const [renewed = 0, started] = await Promise.all([
      this.#inputs.api.leaseRenewed(),
      this.#inputs.kubeletStarted(),
    ]);
    return started !== undefined && renewed > started;
  }
}

type Content = Pick<Report, "revision" | "digest" | "attempt">;

/** The content that the report is about; undefined if there is nothing to report. */
function contentOf(result: Result, observed: Observed, own: Own): Content | undefined {
  const { order, report } = own;
  const { release, journal } = observed;
  const isAboutRelease = result === "Removed" || (result === "Refused" && release !== undefined);
  if (!isAboutRelease && result !== "Proved") {
    // The object might have another order by now, which is not answered by this step.
    const open = activeOrder(observed.order);
    if (open !== undefined || result === "Failed") return open;
  }
  const content = isAboutRelease ? release : journal?.content;
  if (content === undefined || content.revision === 0) return undefined;
  const { revision, digest } = content;
  if (belongsTo(content, order ?? "none"))
    return { revision, digest, attempt: order?.attempt ?? 0 };
  if (report !== undefined && belongsTo(content, report))
    return { revision, digest, attempt: report.attempt };
  // The node has other content than it was asked for. A failure or a refusal stays reported, and an
  // order without an answer is answered soon. But the object must not claim other content.
  const claims = report?.result === "Proved" || report?.result === "Removed";
  if (!isAboutRelease && order !== undefined && !claims) return undefined;
  return { revision, digest, attempt: 0 };
}

/** The step, with a next round after at most `milliseconds`. */
function sooner(step: Step, milliseconds: number): Step {
  return step.again === "back off" ? step : { ...step, again: Math.min(step.again, milliseconds) };
}

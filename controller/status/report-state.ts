/** The occasion of a verdict: the same words about another occasion are another Event. */
import type { V1ObjectMeta, V1Secret, V1DaemonSet } from "@kubernetes/client-node";
import type { SourcesVerdict } from "../sources/accept.ts";
import { contains } from "#kube/apply/difference.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { AdmissionError } from "#kube/apply/demands.ts";
import { isConflict } from "#kube/loop.ts";
import type { Notice } from "./events.ts";
import * as messages from "./messages.ts";
import type { Trouble } from "./messages.ts";

type SaidOnce = Readonly<Record<string, string>> | undefined;

export class Occasions {
  #edit: { said: SaidOnce; version: string } = { said: undefined, version: "" };
  #original = "";

  /**
   * The version in which the Secret got its present meaning: an edit of its labels or of white
   * space is no news. What is refused has no meaning to compare, and is told again when its bytes
   * change.
   */
  additional(secret: V1Secret | undefined, { wanted, problems }: SourcesVerdict): string {
    const refused = wanted === undefined || problems.additional.length > 0;
    const said = refused ? secret?.data : { document: wanted.document, sources: wanted.sources };
    if (said === undefined || this.#edit.said === undefined || !isSame(said, this.#edit.said))
      this.#edit = { said, version: versionOf(secret?.metadata) };
    return this.#edit.version;
  }

  /** Absence is told once per Secret that was there: one may come and go any number of times. */
  original(secret: Snapshot["original"]): string {
    if (typeof secret === "string") return `${secret} after ${this.#original}`;
    this.#original = versionOf(secret.metadata);
    return this.#original;
  }
}

const isSame = (a: unknown, b: unknown) => contains(a, b) && contains(b, a);

const versionOf = (metadata: V1ObjectMeta | undefined) => metadata?.resourceVersion ?? "";

/**
 * Seconds for which a node may lack an agent: between a pod's deletion and its successor's creation
 * it has none, for a second or two.
 */
const toleranceSeconds = 10;

/** Counts the nodes that have long been without an agent; undefined when there are none. */
export function missingPodsClock(
  now: () => Date,
): (live: V1DaemonSet | undefined) => number | undefined {
  let since: number | undefined;
  return (live) => {
    const { desiredNumberScheduled = 0, currentNumberScheduled = 0 } = live?.status ?? {};
    const count = desiredNumberScheduled - currentNumberScheduled;
    const time = now().getTime() / 1000;
    since = count > 0 ? (since ?? time) : undefined;
    return since === undefined || time - since < toleranceSeconds ? undefined : count;
  };
}

/**
 * Refusals in a row before they are reported: the first one may be of a right that is being
 * granted, or of a webhook that is restarting.
 */
const refusalsBeforeReport = 2;

/**
 * Runs without an answer in a row before they are reported. With the pauses between the runs these
 * are one to four minutes, longer than an API server takes to restart.
 */
const silencesBeforeReport = 8;

/** No answer that says anything about the request: none, too many requests, not available. */
const silent: ReadonlySet<number> = new Set([0, 429, 503, 504]);

export class RequestTroubles {
  #refusals = 0;
  #silences = 0;
  #silence: Notice | undefined;

  /** Takes the error of a run. Undefined if it changes nothing that is known. */
  failed(error: unknown): readonly Trouble[] | undefined {
    const { message } = error as Error;
    if (isConflict(error)) return undefined;
    if (error instanceof ApiError && silent.has(error.status)) {
      this.#silences += 1;
      if (this.#silences < silencesBeforeReport) return undefined;
      // Each failure may have other words, and each would be another Event.
      this.#silence ??= messages.unanswered(message);
      return [["unanswered", this.#silence]];
    }
    if (!(error instanceof ApiError) && !(error instanceof AdmissionError)) return undefined;
    this.#refusals += 1;
    if (this.#refusals < refusalsBeforeReport) return undefined;
    return [["refused", messages.refused(message)]];
  }

  /** Takes a run that came to its end. */
  succeeded(): void {
    [this.#refusals, this.#silences, this.#silence] = [0, 0, undefined];
  }
}

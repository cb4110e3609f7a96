/**
 * Failures of whole runs, as the trouble that is reported of them. One failure may be momentary,
 * and a conflict is none: the next run reads again. What lasts is reported, whether the API server
 * refuses our requests or does not answer them.
 */
import { ApiError } from "#kube/client/api-error.ts";
import { AdmissionError } from "#kube/apply/demands.ts";
import { isConflict } from "#kube/loop.ts";
import type { Notice } from "./events.ts";
import * as messages from "./messages.ts";
import type { Trouble } from "./news.ts";

/**
 * Refusals in a row before they are reported: the first one may be of a right that is being
 * granted, or of a webhook that is restarting.
 */
const refusalsTold = 2;

/**
 * Runs without an answer in a row before they are reported. With the pauses between the runs these
 * are one to four minutes, longer than an API server takes to restart.
 */
const silencesTold = 8;

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
      if (this.#silences < silencesTold) return undefined;
      // Each failure may have other words, and each would be another Event.
      this.#silence ??= messages.unanswered(message);
      return [["unanswered", this.#silence]];
    }
    if (!(error instanceof ApiError) && !(error instanceof AdmissionError)) return undefined;
    this.#refusals += 1;
    if (this.#refusals < refusalsTold) return undefined;
    return [["refused", messages.refused(message)]];
  }

  /** Takes a run that came to its end. */
  succeeded(): void {
    [this.#refusals, this.#silences, this.#silence] = [0, 0, undefined];
  }
}

/** Brings the agent's newest report into the status of the node's NodePullSecret. */
import { keyOf } from "#contract/order.ts";
import type { Sending } from "./follow.ts";
import { type NewReport, type Own, isReported, statusOf, trimmed } from "./objects.ts";
import { pauseAfter, steady } from "./pause.ts";

type Options = Sending &
  Readonly<{
    /** The path of the object's status. */
    path: string;
    own: () => Own | "unknown" | "absent";
    /** Called with the object as the API server answers it. */
    accepted: (object: unknown) => void;
  }>;

export function openReporter(options: Options) {
  const { connection, path, own, accepted, streak, pause, clock, signal } = options;
  let newest: NewReport | undefined;
  let isSending = false;
  /** How many reports for one order were sent without a rest, and when the last one was sent. */
  let sent = 0;
  let last = Number.NEGATIVE_INFINITY;

  /** The status to write now, if any. */
  function due(): object | undefined {
    const object = own();
    if (newest === undefined || typeof object === "string" || signal.aborted) return undefined;
    if (isReported(newest, object.report)) return undefined;
    return statusOf(newest, object.report, Math.floor(connection.time() / 1000));
  }

  /**
   * Sends until nothing is due. If an answer is lost, the same report is sent again, which changes
   * nothing. A report names its attempt, so it answers no other order, even if the order has
   * changed or the object was created again meanwhile.
   */
  async function send(): Promise<void> {
    if (isSending) return;
    isSending = true;
    // Also reports that were accepted count, because another client can overwrite each of them.
    if (clock() - last >= steady) sent = 0;
    let error: unknown;
    while (due() !== undefined) {
      if (sent > 0) await pause(pauseAfter(sent, error));
      const status = due();
      if (status === undefined) break;
      sent += 1;
      last = clock();
      try {
        accepted(await connection.call("PATCH", path, { status }));
      } catch (caught) {
        error = caught;
        streak.failed(error);
      }
    }
    streak.ended();
    isSending = false;
  }

  return {
    /** Sets the report. Sends it if it is new. The first report for an order does not wait. */
    report(report: NewReport): void {
      if (newest === undefined || keyOf(newest) !== keyOf(report)) sent = 0;
      newest = trimmed(report);
      void send();
    },
    /** Call this when the object has changed. */
    changed: () => void send(),
  };
}

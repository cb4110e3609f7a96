/** Checks that an idle controller makes no requests. */
import { keepsWatch, type AuditedRequest } from "./audit.ts";
import { stays, until } from "./await.ts";

/**
 * Milliseconds without a request after which the controller counts as idle. The controller writes
 * status a second after the end of a rollout, and the audit log shows this write even later.
 */
const quiet = 5000;
/**
 * Milliseconds in which an idle controller must send no request. A loop with unfinished work looks
 * at this work again after 5 s, so this time is longer.
 */
const rest = 10_000;

/**
 * Waits until no request has been sent for a while, then checks that no request follows. A list
 * counts as a request, unless it renews a watch. `asked` returns the requests since a time (ISO
 * 8601), except those for the Lease.
 */
export async function restsFrom(
  asked: (since: string) => readonly AuditedRequest[],
): Promise<void> {
  const since = (moment: number) =>
    asked(new Date(moment).toISOString()).filter((request) => !keepsWatch(request));
  const begun = Date.now();
  await until(
    "earlier requests are over",
    () => Date.now() - begun >= quiet && since(Date.now() - quiet).length === 0,
    { every: 500, timeout: 15_000, seen: () => since(begun) },
  );
  const rests = Date.now();
  const isQuiet = () => {
    const [first] = since(rests);
    if (first !== undefined) throw new Error(`request at rest: ${first.verb} ${first.uri}`);
    return true;
  };
  await stays("no request is made", isQuiet, rest, 500);
}

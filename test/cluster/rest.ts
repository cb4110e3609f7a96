/** Checks that an idle controller makes no requests. */
import { keepsWatch, type AuditedRequest } from "./audit.ts";
import { stays, until } from "./await.ts";

/** Milliseconds: a rollout's status is written a second after its end, and reported later. */
const quiet = 5000;
/**
 * Milliseconds: more than the 5 s after which a loop checks again while something is in progress.
 */
const rest = 10_000;

/**
 * Waits until no request is made for a while, then watches that it stays so: no list either, except
 * those that renew a watch. `asked`: requests since a time (ISO 8601), except those for the Lease.
 */
export async function restsFrom(
  asked: (since: string) => readonly AuditedRequest[],
): Promise<void> {
  const since = (moment: number) =>
    asked(new Date(moment).toISOString()).filter((one) => !keepsWatch(one));
  const begun = Date.now();
  await until(
    "earlier requests are over",
    () => Date.now() - begun >= quiet && since(Date.now() - quiet).length === 0,
    { every: 500, timeout: 15_000, seen: () => since(begun) },
  );
  const rests = Date.now();
  const isQuiet = () => {
    const [first] = since(rests);
    if (first !== undefined) throw new Error(`asked at rest: ${first.verb} ${first.uri}`);
    return true;
  };
  await stays("nothing is asked for", isQuiet, rest, 500);
}

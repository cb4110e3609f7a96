/** That a controller at rest asks for nothing. */
import { keepsWatch, type AuditedRequest } from "./audit.ts";
import { stays, until } from "./await.ts";

/** Milliseconds: a rollout's status is written a second after its end, and told some later. */
const quiet = 5000;
/** Milliseconds: more than the 5 s in which a loop looks again as long as something goes on. */
const rest = 10_000;

/**
 * Waits until nothing is asked for a while, whatever was still under way, and watches that nothing
 * is from then on: no list either, but those that renew a watch. `asked`: requests since a time
 * (ISO 8601) without what keeps the Lease.
 */
export async function restsFrom(
  asked: (since: string) => readonly AuditedRequest[],
): Promise<void> {
  const since = (moment: number) =>
    asked(new Date(moment).toISOString()).filter((one) => !keepsWatch(one));
  const begun = Date.now();
  await until(
    "what was under way is over",
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

/** What is told of a request to a cluster that failed. Pure. */
import { ApiError } from "#kube/client/api-error.ts";
import { sentence } from "../secret/problems.ts";
import type { Seen } from "../way/way.ts";

/** Status and reason of the guest's answer, and nothing else, because the rest may be anything. */
export const told = (error: unknown): string =>
  error instanceof ApiError ? error.message : "its answer is not an API server's";

/** Why a cluster is not reached. A refused account is an answer, and lasts. */
export const away = (error: unknown): string => {
  const denied = error instanceof ApiError && [401, 403].includes(error.status);
  return sentence(denied ? "denied" : "unreachable", told(error));
};

/**
 * What is known of an object whose reading may be refused, after it failed. What it showed last is
 * kept, unless it is not there or may not be read.
 */
export function unseen(seen: Seen, error: unknown): Seen {
  const { status, reason } = error instanceof ApiError ? error : { status: 0, reason: "Unknown" };
  const why = `${status || "no answer"} ${reason}`;
  const gone = status === 403 || status === 404 || seen.is !== "shown";
  return gone ? { is: "refused", status, why } : { ...seen, failing: why };
}

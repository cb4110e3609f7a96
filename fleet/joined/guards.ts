/** Whether the admission policies that hold a joined cluster's account to its task are there. */
import { joinedGuards, objectsOf } from "#contract/joined.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

/**
 * True when each policy and its binding is as a join makes it. False also where the account may not
 * read them: then an older version has joined that cluster. Rejects with ApiError for no answer.
 */
export async function isGuarded(cluster: Cluster): Promise<boolean> {
  const all = joinedGuards.flatMap((one) => objectsOf(one));
  try {
    const live = await Promise.all(all.map(({ path }) => cluster.get<Specified>(path)));
    return all.every(({ body }, at) => covers(live[at]?.spec, body.spec));
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return false;
    throw error;
  }
}

type Specified = Readonly<{ spec?: unknown }>;

/**
 * Whether it has every field that is wanted, with that value; lists are compared whole. What the
 * API server adds by default is nobody's change.
 */
export function covers(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(live) &&
      live.length === wanted.length &&
      wanted.every((one, at) => covers(live[at], one))
    );
  if (typeof wanted !== "object" || wanted === null) return live === wanted;
  if (typeof live !== "object" || live === null) return false;
  const has = live as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(
    ([name, one]) => Object.hasOwn(has, name) && covers(has[name], one),
  );
}

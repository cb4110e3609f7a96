/**
 * How a cluster of the inventory is reached: as data, or as a sentence that says why it cannot be.
 */
import type { Access } from "#kube/kubeconfig/access.ts";
import type { KubeconfigRead } from "#kube/kubeconfig/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { sentence } from "../rules/problems.ts";

export type AccessReading =
  | Readonly<{
      ok: true;
      access: Access;
      /**
       * What the access was made of. While that is the same, so is the connection. It holds a
       * credential.
       */
      made: string;
    }>
  /** `absent`: there is none. Nobody has written one that takes back what the former gave. */
  | Readonly<{ ok: false; why: string; absent?: true }>;

/** The access that a kubeconfig gives, or the first of its problems. */
export function reading(read: KubeconfigRead, made: string): AccessReading {
  if (read.ok) return { ok: true, access: read.access, made };
  const [first] = read.problems;
  const why = first === undefined ? "" : `${first.code} ${formatProblem(first)}`;
  return { ok: false, why: sentence("kubeconfig", why) };
}

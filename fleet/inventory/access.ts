/** How a cluster of the inventory is reached: data, or a sentence that says why it cannot be. */
import type { Access } from "#kube/kubeconfig/access.ts";
import type { KubeconfigRead } from "#kube/kubeconfig/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { sentence } from "../secret/problems.ts";

export type Reading =
  | Readonly<{
      ok: true;
      access: Access;
      /** What it was made of: where that is the same, the connection is. A credential is in it. */
      made: string;
    }>
  | Readonly<{ ok: false; why: string }>;

/** The first of what is wrong with a kubeconfig, or what it gives. */
export function reading(read: KubeconfigRead, made: string): Reading {
  if (read.ok) return { ok: true, access: read.access, made };
  const [first] = read.problems;
  const why = first === undefined ? "" : `${first.code} ${formatProblem(first)}`;
  return { ok: false, why: sentence("kubeconfig", why) };
}

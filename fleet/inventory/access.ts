/** How to reach a cluster of the inventory, or why this is not possible. */
import type { Access } from "#kube/kubeconfig/access.ts";
import type { KubeconfigRead } from "#kube/kubeconfig/parse.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { sentence } from "../rules/problems.ts";

export type AccessReading =
  | Readonly<{
      ok: true;
      access: Access;
      /**
       * The text from which we read `access`, including the credential. While this text does not
       * change, the connection stays open.
       */
      sourceText: string;
    }>
  /** `absent`: there is no kubeconfig. A leaving cluster then keeps its open connection. */
  | Readonly<{ ok: false; why: string; absent?: true }>;

/** The access in a kubeconfig, or the kubeconfig's first problem. */
export function reading(read: KubeconfigRead, sourceText: string): AccessReading {
  if (read.ok) return { ok: true, access: read.access, sourceText };
  const [first] = read.problems;
  const why = first === undefined ? "" : `${first.code} ${formatProblem(first)}`;
  return { ok: false, why: sentence("kubeconfig", why) };
}

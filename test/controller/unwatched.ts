/** Lets the API server refuse a watch, so that our program requests the object by its name. */
import type { V1Role } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { may } from "../cluster/rights.ts";

type Unwatched = Readonly<{
  /** The account's whole user name. */
  user: string;
  /** The object of one of the role's rules: `resource[.group]/name`. */
  what: string;
  namespace?: string;
  /** The arguments of kubectl that name the role. */
  role: readonly string[];
}>;

/** Removes `list` and `watch` from the rule until you dispose of the result. */
export async function unwatched(
  cluster: Cluster,
  { user, what, namespace = "", role }: Unwatched,
): Promise<AsyncDisposable> {
  const [resource = ""] = what.split(/[./]/);
  const { rules = [] } = (await cluster.get<V1Role>(...role)) ?? {};
  const at = rules.findIndex(({ resources = [] }) => resources.includes(resource));
  const former = rules[at]?.verbs ?? [];
  const put = async (verbs: readonly string[]) => {
    const patch = [{ op: "replace", path: `/rules/${at}/verbs`, value: verbs }];
    await cluster.kubectl("patch", ...role, "--type=json", "-p", JSON.stringify(patch));
    const is = verbs.includes("list");
    await until(
      "the change is in force",
      async () => (await may(cluster, user, "list", what, namespace)) === is,
    );
  };
  await put(former.filter((verb) => verb !== "list" && verb !== "watch"));
  return { [Symbol.asyncDispose]: () => put(former) };
}

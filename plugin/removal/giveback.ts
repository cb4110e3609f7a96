/** Withdraws, and waits until the controller reports that no node has any of our entries. */
import type { ReadyReason } from "#api/reasons.ts";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { followObject } from "../cluster/object.ts";
import { steer } from "../cluster/steer.ts";
import { conditionOf } from "#kube/conditions.ts";
import { expectedSeconds } from "../show/expected.ts";
import { judgeServed } from "../show/presence.ts";
import { Refused, type Io } from "../terminal/io.ts";
import type { Live } from "../terminal/live.ts";
import { isThere } from "./delete.ts";
import { definition, deployment } from "./objects.ts";

type Answer = Readonly<{ is: "back" | "failed" | "not yet"; why: string }>;

type Giving = Readonly<{ seconds: number; live: Live }>;

/** Withdraws and waits. Returns at once if the controller and its objects are already deleted. */
export async function giveBack(
  cluster: Cluster,
  { seconds, signal, live }: Pick<Io, "signal"> & Giving,
): Promise<Answer> {
  const [controller, defined] = await Promise.all([
    isThere(cluster, deployment.path),
    isThere(cluster, definition.path),
  ]);
  if (!controller || !defined) {
    await refuseLeft(cluster, controller);
    return { is: "back", why: "" };
  }
  const state = "Withdrawn";
  const object = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
  if (object?.spec?.managementState !== state) await steer(cluster, { state, annotations: {} });
  let last = "the API server did not answer";
  const each = (object: GlobalPullSecret | undefined): Answer | undefined => {
    const now = judge(object);
    if (now.is !== "not yet") return now;
    live.show(now.why, object && expectedSeconds(object));
    last = now.why;
    return undefined;
  };
  const answer = await followObject(cluster, { seconds, signal, each });
  return answer ?? { is: "not yet", why: last };
}

const withdrawn: ReadyReason = "Withdrawn";

/**
 * Returns `back` only if unreachable nodes have no entry of ours either. If such a node had an
 * entry and returned after the uninstall, no agent would remove the entry.
 */
function judge(object: GlobalPullSecret | undefined): Answer {
  const { is, why } = judgeServed(object, []);
  if (is === "failed") return { is, why };
  const reason = conditionOf(object?.status, "Ready")?.reason;
  return { is: is === "served" && reason === withdrawn ? "back" : "not yet", why };
}

async function refuseLeft(cluster: Cluster, controller: boolean): Promise<void> {
  const paths = Object.values(owned);
  const there = await Promise.all(paths.map((path) => isThere(cluster, path)));
  const at = there.indexOf(true);
  if (at < 0) return;
  const what = controller ? "CRD of GlobalPullSecret" : "controller";
  throw new Refused(
    `${paths[at]}: exists, but the ${what} does not, so nothing would remove the pull secret from the nodes; ` +
      "kubectl apply -k manifests, then uninstall again",
  );
}

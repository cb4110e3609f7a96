/** Deletes the installation's objects, one after the other. A missing object is not an error. */
import { setTimeout as pause } from "node:timers/promises";
import type { V1ObjectMeta, V1Pod } from "@kubernetes/client-node";
import { namespace } from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { releaseOf } from "#kube/client/declared-by.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections, globalPullSecretPath, owned } from "#kube/client/paths.ts";
import { Refused, type ScreenIo } from "../terminal/io.ts";
import { definition, deployment, installation, type InstalledObject } from "./objects.ts";
import type { ReadyReason } from "#api/reasons.ts";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { followObject } from "../cluster/object.ts";
import { steer } from "../cluster/steer.ts";
import { conditionOf } from "#kube/conditions.ts";
import { judgeServed } from "../show/presence.ts";
import { printChanges } from "../terminal/output.ts";

type NamedObject = Readonly<{ metadata?: V1ObjectMeta }>;

const read = (cluster: Cluster, path: string) =>
  // We request only the metadata, so that we do not receive a Secret's content.
  cluster.get<NamedObject>(path, { as: "metadata" });

/**
 * Throws Refused if Helm installed the controller, because Helm would still list the release after
 * the deletion.
 */
export async function refuseOfHelm(cluster: Cluster): Promise<void> {
  const { metadata } = (await read(cluster, deployment.path)) ?? {};
  const release = releaseOf(metadata);
  if (release === undefined) return;
  const where = metadata?.annotations?.["meta.helm.sh/release-namespace"] ?? namespace;
  throw new Refused(
    `deployment/${deployment.name}: of a Helm release; nothing is done: ` +
      `helm uninstall ${release} -n ${where}, which also cleans the nodes`,
  );
}

async function isThere(cluster: Cluster, path: string): Promise<boolean> {
  return (await read(cluster, path)) !== undefined;
}

type Deleting = Readonly<{
  /** How long to wait for the controller's pods to end. */
  seconds: number;
  signal: AbortSignal;
  /** Called with each object that existed and is now deleted. */
  deleted: (object: InstalledObject) => void;
}>;

/**
 * Deletes each object, the CRD last. Returns false if the controller's pods did not end in time, or
 * if `signal` has aborted. The CRD then still exists.
 */
export async function deleteAll(
  cluster: Cluster,
  { seconds, signal, deleted }: Deleting,
): Promise<boolean> {
  for (const object of [...installation, definition]) {
    if (signal.aborted) return false;
    await deleteOne(cluster, object, deleted);
    if (object === deployment && !(await podsEnd(cluster, seconds, signal))) return false;
  }
  return true;
}

async function deleteOne(
  cluster: Cluster,
  object: InstalledObject,
  deleted: (one: InstalledObject) => void,
): Promise<void> {
  const existing = await read(cluster, object.path);
  if (existing === undefined) return;
  await cluster.remove(object.path, existing.metadata?.uid ?? "");
  deleted(object);
}

/**
 * Waits until the controller's pods have ended. A container that restarts without the CRD finds
 * nothing of the withdrawal. It would use the default policy, and deploy the agents again.
 */
async function podsEnd(cluster: Cluster, seconds: number, signal: AbortSignal): Promise<boolean> {
  const until = performance.now() + seconds * 1000;
  const query = { fieldSelector: `spec.serviceAccountName=${fieldManager}` };
  for (;;) {
    let count = 0;
    await cluster.pages<V1Pod>(collections.pods, query, (pods) => void (count += pods.length));
    if (count === 0) return true;
    if (signal.aborted || performance.now() >= until) return false;
    // This rejects only if `signal` aborts.
    await pause(1000, undefined, { signal }).catch(() => {});
  }
}

type Answer = Readonly<{ is: "back" | "failed" | "not yet"; why: string }>;

/** Withdraws and waits. Returns at once if the controller and its objects are already deleted. */
export async function giveBack(
  cluster: Cluster,
  seconds: number,
  { signal, err }: Pick<ScreenIo, "signal" | "err">,
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
  if (object?.spec?.managementState !== state) await steer(cluster, { state });
  let last = "the API server did not answer";
  const show = printChanges(err);
  const each = (object: GlobalPullSecret | undefined): Answer | undefined => {
    const now = removalAnswer(object);
    if (now.is !== "not yet") return now;
    show(now.why);
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
function removalAnswer(object: GlobalPullSecret | undefined): Answer {
  const { is, why } = judgeServed(object, []);
  if (is === "failed") return { is, why };
  const reason = conditionOf(object?.status, "Ready")?.reason;
  return { is: is === "served" && reason === withdrawn ? "back" : "not yet", why };
}

async function refuseLeft(cluster: Cluster, controller: boolean): Promise<void> {
  const paths = Object.values(owned);
  const presence = await Promise.all(paths.map((path) => isThere(cluster, path)));
  const at = presence.indexOf(true);
  if (at < 0) return;
  const what = controller ? "CRD of GlobalPullSecret" : "controller";
  throw new Refused(
    `${paths[at]}: exists, but the ${what} does not, so nothing would remove the pull secret from the nodes; ` +
      "kubectl apply -k manifests, then uninstall again",
  );
}

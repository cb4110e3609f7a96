/**
 * Availability on time. A pod is available once it has been Ready for minReadySeconds, and the
 * DaemonSet controller notices that when it syncs its DaemonSet. It schedules a sync for each
 * Ready, but keeps only the earliest. After a kubelet restart the agent's pod is Ready for a moment
 * without a probe, and again a second later: the sync scheduled for the first comes too early, and
 * the one after it 2 s too late, for every node of a rollout. Any change of the DaemonSet triggers
 * a sync at once.
 */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { guardSeconds, namespace, agentName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { annotationManager } from "#kube/client/ownership.ts";
import { annotations } from "#controller/objects/daemonset/annotation-names.ts";
import { owned } from "#kube/client/paths.ts";

/** Seconds of slack after a Ready: status and watch take their time. */
const air = 0.1;
/**
 * Most nudges for one change of the counters. Kubelet clocks differ, so a sync may come a second or
 * two too early.
 */
const most = 3;

/**
 * Seconds until the DaemonSet should be nudged: 0 for now, undefined when there is no need. Counts
 * from the last change of its counters, and nudges at most three times for one.
 */
export type NudgeClock = (live: V1DaemonSet) => number | undefined;

export function nudgeClock(seconds: () => number): NudgeClock {
  let key = "";
  let since = 0;
  let made = 0;
  return ({ spec, status }) => {
    // At birth agents are not meant to become available.
    if ((spec?.minReadySeconds ?? 0) > guardSeconds) return undefined;
    const { numberReady = 0, numberAvailable = 0, updatedNumberScheduled = 0 } = status ?? {};
    const seen = [numberReady, numberAvailable, updatedNumberScheduled].join("/");
    if (seen !== key) [key, since, made] = [seen, seconds(), 0];
    if (numberReady <= numberAvailable || made === most) return undefined;
    const left = guardSeconds + air + made - (seconds() - since);
    if (left > 0) return left;
    made += 1;
    return 0;
  };
}

/**
 * Makes the DaemonSet controller sync. Nothing that is declared changes. If somebody changed the
 * DaemonSet meanwhile its controller syncs anyway, so a conflict is as good as success.
 */
export async function nudge(cluster: Cluster, { metadata }: V1DaemonSet, now: Date): Promise<void> {
  const said = { [annotations.nudged]: now.toISOString() };
  // The uid keeps the apply from creating a DaemonSet without a spec if ours was deleted meanwhile.
  const { uid, resourceVersion } = metadata ?? {};
  const patch = { name: agentName, namespace, uid, resourceVersion, annotations: said };
  const object = { apiVersion: "apps/v1", kind: "DaemonSet", metadata: patch };
  try {
    await cluster.apply(owned.daemonSet, object, { manager: annotationManager, force: true });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
  }
}

/** The objects that the controller watches while it runs, and which changes start a run. */
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Followed } from "#kube/watch/cached-client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { follow } from "#kube/watch/watch.ts";
import { statusManager } from "#kube/client/ownership.ts";

/**
 * Milliseconds. If the CRD is installed later, the controller notices this within half a minute. A
 * missing CRD is logged once a minute.
 */
const [longestPause, warnEvery] = [30_000, 60_000];

type Followable = Followed & Readonly<{ live: Cluster }>;

const isOthersStatus = ({ manager, subresource }: V1ManagedFieldsEntry) =>
  subresource === "status" && manager !== statusManager;

/**
 * Watches an object of a kind that every cluster has. A failing watch also starts a run. Without
 * this run, an idle controller would take five minutes to notice that the object cannot be read.
 */
export function watchOver(
  { live, target, informer }: Followable,
  hint: () => void,
  signal: AbortSignal,
  log: Logger,
) {
  return follow({
    cluster: live,
    target,
    informer,
    hint,
    failed(error) {
      log.warn({ error: error.message, name: target.name }, "watch failed; it will be restarted");
      hint();
    },
    signal,
  });
}

/**
 * Watches GlobalPullSecret. Only changes by others start a run, not our own writes of the status.
 * After a failure, every list starts a run, because a missing object and a missing CRD look the
 * same.
 */
export function watchPolicy(
  { live, target, informer }: Followable,
  hint: () => void,
  signal: AbortSignal,
  log: Logger,
) {
  let declared = "";
  let warned = Number.NEGATIVE_INFINITY;
  return follow({
    cluster: live,
    target,
    informer,
    longestPause,
    signal,
    hint() {
      const { shown } = informer;
      const { metadata } = (typeof shown === "object" && shown.object) || {};
      const { uid, generation, annotations, managedFields = [] } = metadata ?? {};
      const others = managedFields
        .filter(isOthersStatus)
        .map(({ manager, time }) => [manager, time]);
      const now = JSON.stringify([uid, generation, annotations, others]);
      if (now !== declared) hint();
      declared = now;
    },
    failed(error) {
      declared = "";
      if (performance.now() - warned < warnEvery) return;
      warned = performance.now();
      const undefinedHere = error instanceof ApiError && error.status === 404;
      log.warn(
        { error: error.message },
        undefinedHere
          ? "the CRD of GlobalPullSecret is missing, so the policy stays as it is; apply manifests/crds"
          : "GlobalPullSecret cannot be watched; it will be retried",
      );
    },
  });
}

/** What is followed for as long as the controller runs, and which changes make it look again. */
import type { V1ManagedFieldsEntry } from "@kubernetes/client-node";
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Followed } from "#kube/watch/cached-client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { follow } from "#kube/watch/watch.ts";
import { statusManager } from "./status/status-writer.ts";

/**
 * Milliseconds. A definition that comes later is noticed within half a minute, and its absence is
 * logged once a minute.
 */
const [longestPause, warnEvery] = [30_000, 60_000];

type Followable = Followed & Readonly<{ live: Cluster }>;

const isOthersStatus = ({ manager, subresource }: V1ManagedFieldsEntry) =>
  subresource === "status" && manager !== statusManager;

/**
 * Follows an object whose definition must exist here. A watch that fails is a hint, too: otherwise
 * a controller at rest would not notice for five minutes that the object cannot be read.
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
      log.warn({ error: error.message, name: target.name }, "watch failed; it starts again");
      hint();
    },
    signal,
  });
}

/**
 * Follows GlobalPullSecret, with a hint only for what others wrote: our own writes to its status
 * are no news. After a failure every list is a hint, because a definition that has come back shows
 * the same as a missing one: no object.
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
          ? "GlobalPullSecret is not defined here: policy is the defaults; apply manifests/crds"
          : "GlobalPullSecret cannot be watched; policy stays as it was read last",
      );
    },
  });
}

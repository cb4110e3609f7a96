/** What serves the cluster, as one value: client, informers, Lease, loop and reconciler. */
import { once } from "node:events";
import type { Logger } from "pino";
import {
  additionalSecretName,
  globalPullSecretName,
  globalSecretName,
  stateSecretName,
  agentName,
} from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { ControllerConfig } from "./policy/config.ts";
import { joinElection } from "#runtime/election.ts";
import { fenced } from "#runtime/fenced-client.ts";
import { imageOf } from "./image.ts";
import { contested } from "#kube/contested-client.ts";
import { connect } from "#kube/client/client.ts";
import { ServerClock } from "#kube/client/server-clock.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { createLoop, hangsSeconds, isConflict, sooner } from "#runtime/loop.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { openRemote } from "#runtime/remote-file.ts";
import { labels, type ControllerMetrics } from "./status/metrics.ts";
import { followCollection } from "#kube/watch/collection.ts";
import { CollectionInformer, Informer } from "#kube/watch/informer.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { followExtras } from "./sources/extras.ts";
import { openOriginal } from "./sources/original.ts";
import { collections, leaseIn } from "#kube/client/paths.ts";
import { wantedOf } from "./objects/global-secret.ts";
import { assembleReconciler } from "./assembly.ts";
import { agentsSelector, keepPod } from "./rollout/pods.ts";
import { reconcile } from "./reconcile.ts";
import { policyReader } from "./policy-reader.ts";
import type { Health } from "#runtime/server.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { watchOver, watchPolicy } from "./watches.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "#kube/client/retry.ts";
import { reminder } from "#runtime/reminder.ts";

/**
 * The objects that the controller watches by name, besides GlobalPullSecret, the original and the
 * extra sources.
 */
const targets: readonly WatchTarget[] = [
  { collection: collections.secrets, name: additionalSecretName },
  { collection: collections.secrets, name: stateSecretName },
  { collection: collections.secrets, name: globalSecretName },
  { collection: collections.serviceAccounts, name: agentName },
  { collection: collections.roles, name: agentName },
  { collection: collections.roleBindings, name: agentName },
  { collection: collections.daemonSets, name: agentName },
];

/** The path of GlobalPullSecret, the only watched object whose CRD can be missing. */
const policyTarget = { collection: collections.globalPullSecrets, name: globalPullSecretName };

type Options = Readonly<{
  config: ControllerConfig;
  log: Logger;
  metrics: ControllerMetrics;
  /** Called when the Lease is lost. This process must not write after this call. */
  end: () => void;
  /** Called when this process should end soon so that another controller can lead. */
  leave: () => void;
}>;

export type ServedCluster = Readonly<{
  health: Health;
  /** Waits for the Lease and reconciles until `signal` aborts. The Lease is released last. */
  serve: (signal: AbortSignal) => Promise<void>;
}>;

/** The cluster that the flags name. Opens no connection before `serve`. */
export function openCluster({ config, log, metrics, end, leave }: Options): ServedCluster {
  const asked = (method: string, status: number) =>
    metrics.requests.inc({ method, status: String(status) });
  // The clock of the served cluster, because we compare times of that cluster.
  const clock = new ServerClock();
  const now = () => clock.now();
  const seconds = () => performance.now() / 1000;
  const { guestKubeconfig: file } = config;
  const stopping = new AbortController();
  const how = { stop: stopping.signal };
  const home =
    file === undefined
      ? connect(loadKubeConfig(config.kubeconfig), asked, { ...how, clock })
      : connect(loadKubeConfig(config.kubeconfig), asked, how);
  const connected = (access: Access) => connect(kubeConfigOf(access), asked, { ...how, clock });
  const guest = { flag: "--guest-kubeconfig", log, connected, moved: leave };
  const served = file === undefined ? home : openRemote({ file, ...guest });
  const place = { cluster: home, path: leaseIn(config.namespace) };
  const { leader, standby } = joinElection(place, log, end, (leads) =>
    metrics.leader.set(leads ? 1 : 0),
  );
  const { cluster: live, listContests } = contested(
    fenced(served, leader.holds),
    undefined,
    wantedOf,
  );
  const here = targets.map((target) => ({ live, target, informer: new Informer() }));
  const policyHere = { live, target: policyTarget, informer: new Informer() };
  const original = openOriginal(config, home, asked, log);
  const cluster = cached(live, [...here, policyHere]);
  const pods = new CollectionInformer(keepPod);
  const known = { original, pods, contests: listContests };
  const open = { log, metrics, live, cluster, ...known, seconds, now };
  const policy = policyReader({ cluster, installed: config.installed, log, seconds });

  let succeeded = false;
  let reconcilerOf: ReturnType<typeof assembleReconciler> | undefined;
  const loop = createLoop({
    async run() {
      if (reconcilerOf === undefined) return undefined;
      const stopTimer = metrics.seconds.startTimer(labels);
      const reading = await policy.read();
      const again = await reconcile(reconcilerOf(reading)).finally(stopTimer);
      metrics.reconciles.inc({ ...labels, result: "ok" });
      metrics.lastSuccess.setToCurrentTime();
      succeeded = true;
      return sooner(again, reading.again);
    },
    failed(error, failures) {
      const conflict = isConflict(error);
      metrics.reconciles.inc({ ...labels, result: conflict ? "conflict" : "error" });
      log[conflict ? "debug" : "error"](
        { failures, error: (error as Error).message },
        conflict
          ? "another client wrote first; reading again"
          : "reconcile failed; it will be retried",
      );
      return error instanceof ApiError ? error.retryAfterSeconds : undefined;
    },
  });

  return {
    health: {
      sick: () =>
        loop.silence() > hangsSeconds ? `no reconcile for ${hangsSeconds} s` : undefined,
      ready: () =>
        succeeded
          ? { ready: true, reason: "ok" }
          : { ready: standby() !== "", reason: standby() || "no reconcile has succeeded yet" },
    },
    async serve(signal) {
      const stopped = signal.aborted ? Promise.resolve() : once(signal, "abort");
      void stopped.then(() => stopping.abort());
      const failed = ({ message }: ApiError) =>
        log.warn({ error: message }, "the API server cannot be used; it will be retried");
      const starting = retryUntilAnswered(() => imageOf(config, home), { failed });
      const run = await Promise.race([starting, stopped.then(() => undefined)]);
      if (run === undefined) return;
      log.info({ cluster: served.identity, ...run }, "started");
      const followed = [...here, ...(original === undefined ? [] : [original.followed])];
      const watches = followed.map((one) => watchOver(one, loop.hint, signal, log));
      watches.push(watchPolicy(policyHere, loop.hint, signal, log));
      const over = new AbortController();
      const campaign = leader.until(over.signal);
      await Promise.race([leader.elected, stopped]);
      if (!signal.aborted) {
        const extras = followExtras({
          live,
          hint: loop.hint,
          failed: (name, error) =>
            log.warn(
              { error: error.message, name },
              "a source cannot be watched; polling it instead",
            ),
          now,
          signal,
        });
        reconcilerOf = assembleReconciler({ ...open, extras }, run);
        // A standby does not need the pods, and listing 5,000 of them takes 50 MB.
        watches.push(
          followCollection({
            cluster: live,
            path: collections.pods,
            query: { labelSelector: agentsSelector },
            informer: pods,
            hint: loop.hint,
            failed: (error) =>
              log.warn(
                { error: error.message },
                "the agents' pods cannot be followed; it will be retried",
              ),
            signal,
          }),
        );
        await loop.until(signal);
      }
      // The Lease is renewed until the last write has ended, and then released, so the next
      // controller need not wait.
      over.abort();
      await Promise.all([campaign, ...watches]);
    },
  };
}

type RetryOptions = Readonly<{
  /** Called at the first failure, and then once a minute, with the reason. */
  failed: (error: ApiError) => void;
  due?: ReturnType<typeof reminder>;
  pause?: (milliseconds: number) => Promise<unknown>;
}>;

/**
 * Repeats a request while the API server is unreachable during the start. If the process exited
 * instead, it would restart with growing delays (CrashLoopBackOff).
 */
export async function retryUntilAnswered<T>(
  ask: () => Promise<T>,
  { failed, due = reminder(), pause = sleep }: RetryOptions,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status > 0 && error.status < 500 && error.status !== 429) throw error;
      if (due(error.message)) failed(error);
      await pause(backoff(failures));
    }
  }
}

/** What serves the cluster: its client, informers, loop and reconciler. */
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
import { fenced } from "#runtime/fenced-client.ts";
import { imageOf } from "./image.ts";
import { type AgentImage, nodesOf } from "./objects/agent.ts";
import { contested } from "#kube/contested-client.ts";
import { connect } from "#kube/client/client.ts";
import { backoff, later } from "#kube/client/retry.ts";
import { ServerClock } from "#kube/client/server-clock.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { createLoop, isConflict, sooner, warnOf } from "#runtime/loop.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { openRemote } from "#runtime/remote-file.ts";
import type { Around, ServedProgram } from "#runtime/run.ts";
import { createMetrics } from "./status/metrics.ts";
import { followCollection } from "#kube/watch/collection.ts";
import { CollectionInformer, Informer } from "#kube/watch/informer.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { followExtras } from "./sources/extras.ts";
import { openVerifier } from "./sources/verifier.ts";
import { openOriginal } from "./sources/original.ts";
import { collections } from "#kube/client/paths.ts";
import { wantedOf } from "./objects/global-secret.ts";
import { assembleReconciler } from "./assembly.ts";
import { agentsSelector, keepNode, keepObject, keepPod } from "./rollout/objects.ts";
import { reconcile } from "./reconcile.ts";
import { policyReader } from "./policy-reader.ts";
import type { WatchTarget } from "#kube/watch/watch.ts";
import { watchOver, watchPolicy } from "./watches.ts";

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

/**
 * Repeats a request until the API server answers, because a process that ended instead would be
 * restarted with growing delays. Rejects with a refusal.
 */
async function answered<T>(ask: () => Promise<T>, log: Logger): Promise<T> {
  for (let failures = 1; ; failures += 1)
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { status } = error;
      if (status >= 400 && status < 500 && status !== 429) throw error;
      warnOf(log, "the API server cannot be used; it will be retried")(error);
      await later(backoff(failures));
    }
}

export function openController(config: ControllerConfig, around: Around): ServedProgram {
  const { home, holds, log, meters, leave, observe } = around;
  const metrics = createMetrics(meters);
  const asked = (method: string, status: number) =>
    metrics.requests.inc({ method, status: String(status) });
  observe({ asked, leads: (is) => metrics.leader.set(is ? 1 : 0) });
  const { guestKubeconfig: file } = config;
  // The clock of the served cluster, because we compare times of that cluster.
  const clock = file === undefined ? around.clock : new ServerClock();
  const now = () => clock.now();
  const seconds = () => performance.now() / 1000;
  const { stop } = around;
  const connected = (access: Access) => connect(kubeConfigOf(access), asked, { stop, clock });
  const guest = { flag: "--guest-kubeconfig", log, connected, moved: leave };
  const served = file === undefined ? home : fenced(openRemote({ file, ...guest }), holds);
  const { cluster: live, listContests } = contested(served, undefined, wantedOf);
  const here = targets.map((target) => ({ live, target, informer: new Informer() }));
  const policyHere = { live, target: policyTarget, informer: new Informer() };
  const original = openOriginal(config, home, asked, log);
  const cluster = cached(live, [...here, policyHere]);
  const pods = new CollectionInformer(keepPod);
  const objects = new CollectionInformer(keepObject);
  const nodes = new CollectionInformer(keepNode);
  const observed = { original, followed: { pods, objects, nodes }, contests: listContests };
  const open = { log, metrics, live, cluster, ...observed, seconds, now };
  const policy = policyReader({ cluster, installed: config.installed, log, seconds });

  let succeeded = false;
  let reconcilerOf: ReturnType<typeof assembleReconciler> | undefined;
  let image: AgentImage | undefined;
  const loop = createLoop({
    async run() {
      if (reconcilerOf === undefined || image === undefined) return undefined;
      const stopTimer = metrics.seconds.startTimer();
      const reading = await policy.read();
      const again = await reconcile(reconcilerOf(reading, image)).finally(stopTimer);
      metrics.reconciles.inc({ result: "ok" });
      metrics.lastSuccess.setToCurrentTime();
      succeeded = true;
      return sooner(again, reading.again);
    },
    failed(error, failures) {
      const conflict = isConflict(error);
      metrics.reconciles.inc({ result: conflict ? "conflict" : "error" });
      log[conflict ? "debug" : "error"](
        { failures, error: (error as Error).message },
        conflict
          ? "another client wrote first; reading again"
          : "reconcile failed; it will be retried",
      );
      return error instanceof ApiError ? error.retryAfterSeconds : undefined;
    },
  });

  log.info({ cluster: served.identity }, "this cluster is watched");
  for (const followed of [...here, ...(original === undefined ? [] : [original.followed])])
    void watchOver(followed, loop.hint, stop, log);
  void watchPolicy(policyHere, loop.hint, stop, log);

  return {
    silence: loop.silence,
    succeeded: () => succeeded,
    async prepare() {
      image = await answered(() => imageOf(config, home), log);
    },
    async until(signal) {
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
      const verifier = openVerifier({ hint: loop.hint, now, seconds });
      reconcilerOf = assembleReconciler({ ...open, extras, verifier });
      // A standby needs none of these. Listing 5,000 pods takes 50 MB.
      const following = { cluster: live, hint: loop.hint, signal };
      const failed = (what: string) =>
        warnOf(log, `${what} cannot be followed; it will be retried`);
      void followCollection({
        ...following,
        path: collections.pods,
        query: { labelSelector: agentsSelector },
        informer: pods,
        failed: failed("the agents' pods"),
      });
      void followCollection({
        ...following,
        path: collections.nodePullSecrets,
        query: {},
        informer: objects,
        failed: failed("the NodePullSecrets"),
      });
      void followCollection({
        ...following,
        path: collections.nodes,
        query: { labelSelector: nodesOf(config.installed.agent) },
        as: "metadata",
        informer: nodes,
        failed: failed("the Nodes"),
      });
      await loop.until(signal);
    },
  };
}

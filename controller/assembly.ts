/** Assembles a reconciler from everything except the policy, which each run reads again. */
import type { Logger } from "pino";
import { announcer } from "#runtime/events.ts";
import { statusWriter } from "#runtime/status.ts";
import { onAdditional } from "./status/events.ts";
import type { Notice } from "./status/messages.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { ContestedObject } from "#kube/contested-client.ts";
import type { ControllerMetrics } from "./status/metrics.ts";
import type { AgentImage } from "./objects/agent.ts";
import { platformClock } from "./platform.ts";
import type { PolicyReading } from "./policy-reader.ts";
import { fieldManager, statusManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import type { Outcome } from "./status/outcome.ts";
import { publisher } from "./status/publish.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { Guard } from "./rollout/guard.ts";
import { type Followed, Repairs } from "./rollout/write.ts";
import { unchangedClock, type RemovalContext } from "./withdrawal/withdrawal.ts";
import type { Extras } from "./sources/extras.ts";
import type { Verifier } from "./sources/verifier.ts";
import type { OriginalPlace } from "./sources/snapshot.ts";

/** `live` is `cluster` without informers. */
type Open = Readonly<{
  log: Logger;
  metrics: ControllerMetrics;
  live: Cluster;
  cluster: Cluster;
  original: Reconciler["original"];
  extras: Reconciler["extras"];
  verifier: Reconciler["verifier"];
  /** The objects that another client keeps changing. */
  contests: () => readonly ContestedObject[];
  followed: Followed;
  /** A clock that never goes back, to measure durations. `now` reads the API server's clock. */
  seconds: () => number;
  now: () => Date;
}>;

/** Returns a function that makes the reconciler of each run. */
export function assembleReconciler(
  open: Open,
): (policyReading: PolicyReading, image: AgentImage) => Reconciler {
  const { log, metrics, live, contests, seconds, now } = open;
  const admitted = new Admitted(now);
  const { announce } = announcer<Notice>({
    cluster: live,
    component: fieldManager,
    reported: ({ type, reason, message }) =>
      log[type === "Warning" ? "warn" : "info"]({ event: reason }, message),
    sent: ({ reason }) => metrics.events.inc({ reason }),
    dropped({ reason }, why) {
      metrics.eventsDropped.inc();
      log.warn({ event: reason, error: why }, "an Event was dropped");
    },
    now,
  });
  const lasting = {
    ...open,
    ...open.followed,
    admitted,
    repairs: new Repairs(),
    guard: new Guard(),
    ended: { revision: undefined },
    times: () => ({ steady: seconds(), api: now().getTime() / 1000 }),
    unchangedSeconds: unchangedClock(seconds),
    platform: platformClock(live, seconds),
    publish: publisher({
      announce: (notice, secret) => announce(notice, onAdditional(secret)),
      metrics,
      admitted,
      contests,
      now,
      status: statusWriter({
        cluster: live,
        path: () => globalPullSecretPath,
        manager: statusManager,
        failed: (error) =>
          log.warn({ error: error.message }, "status could not be written; it will be retried"),
      }),
      log: (fields, message) => log.info(fields, message),
    }),
  };
  return (policyReading, image) => {
    const { policy, retry } = policyReading;
    const { agent, rollout } = policy;
    return {
      ...lasting,
      policyReading,
      policy,
      retry,
      agent: { ...agent, probationSeconds: rollout.probationSeconds, ...image },
    };
  };
}

export type Reconciler = RemovalContext &
  Readonly<{
    /** The policy as this run has read it. */
    policyReading: PolicyReading;
    /** `cluster`, but without informers. */
    live: Cluster;
    original: (OriginalPlace & Readonly<{ name: string }>) | undefined;
    extras: Extras;
    verifier: Verifier;
    /** The API group of another operator that owns the nodes' pull secrets, if there is one. */
    platform: () => Promise<string | undefined>;
    /** Reports the outcome of a run. Never fails. */
    publish: (outcome: Outcome) => void;
  }>;

/**
 * Assembles a reconciler: everything that it needs, except for the policy, which each run reads
 * again.
 */
import type { Logger } from "pino";
import { announcer } from "./report/events.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { ContestedObject } from "#kube/contested-client.ts";
import type { ControllerMetrics } from "./metrics/metrics.ts";
import type { AgentImage } from "#controller/objects/daemonset/agent.ts";
import { platformClock } from "#controller/image/platform.ts";
import type { Reconciler } from "./reconciler.ts";
import type { Steering } from "./steering.ts";
import { statusWriter } from "./report/status-writer.ts";
import { createReport } from "./report/report.ts";
import { noMemory } from "#controller/grants/memory.ts";
import { Admitted } from "#kube/apply/admission.ts";
import { Listings } from "./rollout/nodes.ts";
import { RootMounts } from "./rollout/root-mount.ts";
import { Repairs } from "./rollout/repairs.ts";
import { stillClock } from "./withdrawal/standstill.ts";

/** `live` is `cluster` without informers. */
type Open = Readonly<{
  log: Logger;
  metrics: ControllerMetrics;
  live: Cluster;
  cluster: Cluster;
  original: Reconciler["original"];
  extras: Reconciler["extras"];
  /** The objects that another client writes against us. */
  contests: () => readonly ContestedObject[];
  /** The agents' pods. */
  pods: Reconciler["pods"];
  /** A clock that never goes back, for whatever lasts; `now` is for what others read. */
  seconds: () => number;
  now: () => Date;
}>;

/** Makes a reconciler for each run, from what steers that run. `run`: what the agents run. */
export function assembled(
  { log, metrics, live, cluster, original, extras, contests, pods, seconds, now }: Open,
  run: AgentImage,
): (steering: Steering) => Reconciler {
  const admitted = new Admitted({
    now,
    changed: (path, fields) =>
      log.warn(
        { object: path.split("/").slice(-2).join("/"), fields },
        "admission changes what we declare; it is left so",
      ),
  });
  const { announce } = announcer({
    cluster: live,
    said: ({ type, reason, message }) =>
      log[type === "Warning" ? "warn" : "info"]({ event: reason }, message),
    sent: ({ reason }) => metrics.events.inc({ reason }),
    dropped({ reason }, why) {
      metrics.eventsDropped.inc();
      log.warn({ event: reason, error: why }, "an Event was given up");
    },
    now,
  });
  const lasting = {
    cluster,
    live,
    original,
    extras,
    admitted,
    now,
    pods,
    memory: { grants: noMemory },
    repairs: new Repairs(),
    listings: new Listings(),
    rootMounts: new RootMounts(),
    times: () => ({ steady: seconds(), api: now().getTime() / 1000 }),
    stillSeconds: stillClock(seconds),
    platform: platformClock(live, seconds),
    report: createReport({
      announce,
      metrics,
      admitted,
      contests,
      now,
      status: statusWriter({
        cluster: live,
        failed: (error) =>
          log.warn({ error: error.message }, "status was not written; it is tried again"),
      }),
      log: (fields, message) => log.info(fields, message),
    }),
  };
  return (steering) => {
    const { policy, wishes } = steering;
    const { agent, rollout } = policy;
    return {
      ...lasting,
      steering,
      policy,
      wishes,
      agent: { ...agent, probationSeconds: rollout.probationSeconds, ...run },
    };
  };
}

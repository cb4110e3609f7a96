/** Runs the product's rules in the simulated fleet. */
import type { FleetSecretStatus } from "#api/fleet-secret.ts";
import { rolloutStateOf, type ClusterFacts, type Judgement } from "#fleet/rules/cluster-state.ts";
import { nextChanges } from "#fleet/rules/order.ts";
import { statusOf } from "#fleet/rules/status.ts";
import { conditionOf } from "#kube/conditions.ts";
import type { FleetController, FleetPlan, Shown } from "./fleet-world.ts";

/** A change of the product's rules, with which a law must break. */
export type Rewrite = Readonly<{
  former?: (former: ClusterFacts["former"]) => ClusterFacts["former"];
  judged?: (judged: Judgement) => Judgement;
  pace?: Readonly<{ maxUnavailable: number | string }>;
  isCanary?: boolean;
}>;

const observation: Readonly<Record<Shown, ClusterFacts["observed"]>> = {
  nothing: { is: "other", present: false },
  away: { is: "away", why: "GPS438: away; wait" },
  held: { is: "has", proof: "held", why: "GPS452: held; look" },
  awaited: { is: "has", proof: "awaited", why: "GPS451: awaited; wait" },
  proved: { is: "has", proof: "proved" },
  refused: { is: "has", proof: "refused", why: "GPS453: refused; look" },
};

export function productFleet(plan: FleetPlan, rewrite: Rewrite = {}): FleetController {
  const { former: formerBy = (former) => former, judged: judgedBy = (judged) => judged } = rewrite;
  let status: FleetSecretStatus = {};
  return (observed, now) => {
    const time = Date.parse("2026-11-29T00:00:00Z") + now * 1000;
    const before = new Map(status.clusters?.map((cluster) => [cluster.name, cluster]));
    const judged = [...observed].map(([name, shown]) => {
      const entry = before.get(name);
      const former = entry && {
        state: entry.state,
        since: Date.parse(entry.since),
        startedAt: entry.startedAt === undefined ? undefined : Date.parse(entry.startedAt),
        reason: entry.reason,
      };
      const facts: ClusterFacts = {
        observed: observation[shown],
        busy: false,
        refusal: undefined,
        former: formerBy(former),
        now: time,
      };
      const isCanary = rewrite.isCanary ?? plan.canaries.has(name);
      return Object.assign({ name, isCanary }, judgedBy(rolloutStateOf(facts)));
    });
    const pace = { maxUnavailable: plan.maxUnavailable, maxFailures: "5%", ...rewrite.pace };
    const { change } = nextChanges(judged, pace);
    status = statusOf(
      {
        generation: 1,
        now: new Date(time),
        version: "1",
        clusters: judged.map(({ name, state, reason, rolloutState }) =>
          Object.assign(
            { name, state, isStarted: change.includes(name) || rolloutState === "working" },
            reason === undefined ? {} : { reason },
          ),
        ),
        stalled: undefined,
        paused: false,
        warnings: [],
      },
      status,
    );
    const isTrue = (type: "Ready" | "Available") => conditionOf(status, type)?.status === "True";
    return { change, isReady: isTrue("Ready"), isAvailable: isTrue("Available") };
  };
}

/** What a rollout works with: its cluster, its policy, and what this process remembers of its looks. */
import type { Agent } from "./agent.ts";
import type { Cluster } from "./kube.ts";
import type { Lookout } from "./lookout.ts";
import type { NudgeClock } from "./nudge.ts";
import type { Policy } from "./policy.ts";
import type { Settled } from "./settled.ts";

export type RolloutContext = Readonly<{
  cluster: Cluster;
  settled: Settled;
  agent: Agent;
  policy: Pick<Policy, "rollout">;
  lookout: Lookout;
  nudgeSeconds: NudgeClock;
  now: () => Date;
}>;

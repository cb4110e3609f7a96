/**
 * What a rollout works with: its cluster, its policy, and what this process remembers of earlier
 * looks.
 */
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Lookout } from "./lookout.ts";
import type { NudgeClock } from "./nudge.ts";
import type { Policy } from "../policy/policy.ts";
import type { Wishes } from "#controller/policy/spec/policy-in-force.ts";
import type { Admitted } from "#kube/apply/admission.ts";

export type RolloutContext = Readonly<{
  cluster: Cluster;
  admitted: Admitted;
  agent: Agent;
  policy: Pick<Policy, "rollout" | "managementState">;
  wishes: Wishes;
  lookout: Lookout;
  nudgeSeconds: NudgeClock;
  now: () => Date;
}>;

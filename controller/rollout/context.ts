/** What a rollout works with: its cluster, its policy, and what this process remembers. */
import type { Now } from "./facts.ts";
import type { View } from "./decision.ts";
import type { Memory } from "./memory.ts";
import type { Agent } from "#controller/objects/agent.ts";
import type { Wishes } from "#controller/policy/policy-in-force.ts";
import type { Admitted } from "#kube/apply/admission.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import type { CollectionInformer } from "#kube/watch/informer.ts";
import type { Policy } from "../policy/policy.ts";
import type { Listings } from "./nodes.ts";
import type { AgentPod } from "./pods.ts";
import type { Repairs } from "./repairs.ts";

export type RolloutContext = Readonly<{
  cluster: Cluster;
  admitted: Admitted;
  agent: Agent;
  policy: Pick<Policy, "rollout" | "withdrawal" | "managementState">;
  wishes: Wishes;
  pods: Pick<CollectionInformer<AgentPod>, "view" | "wrote">;
  /**
   * What decisions remember. It lives as long as this process leads. `busyUntil`: seconds of the
   * steady clock until which the API server wants no more writes of pods. `view`: the last one, and
   * the revision that it is about; it is shown while the pods are listed again.
   */
  memory: {
    grants: Memory;
    busyUntil?: number;
    view?: Readonly<{ view: View; revision: number }>;
  };
  /** Lists of Nodes in a withdrawal. */
  listings: Listings;
  /** Refused writes of the agents' rights and the DaemonSet. */
  repairs: Repairs;
  /** The times of a decision: of a clock that never goes back, and of the API server. */
  times: () => Now;
  now: () => Date;
}>;

/** Finds out whether an agent can report only about its own node. */
import type {
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
} from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { nodesBindingPath, nodesPolicy, nodesPolicyPath } from "#kube/client/paths.ts";

/** Seconds between two reads of the policy: while it is in force, and while it is not. */
const pauseSeconds = { guarded: 60, unguarded: 5 } as const;

/**
 * Reads the admission policy that limits agents to the status of their own NodePullSecret, and its
 * binding. Without them, one bad node could report for all nodes, so nothing is asked. Times are
 * seconds of a clock that never goes back.
 */
export class Guard {
  #isGuarded = false;
  #until = 0;

  /**
   * Whether the policy is in force. If the API server gives no answer, the last answer counts. If
   * we have no right to read the policy, it counts as missing.
   */
  async isGuarded(cluster: Pick<Cluster, "get">, now: number): Promise<boolean> {
    if (now < this.#until) return this.#isGuarded;
    try {
      this.#isGuarded = await isDenying(cluster);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 403) this.#isGuarded = false;
    }
    this.#until = now + pauseSeconds[this.#isGuarded ? "guarded" : "unguarded"];
    return this.#isGuarded;
  }

  /**
   * Seconds until the next read. Infinite while the policy is in force: each run reads it again.
   */
  again(now: number): number {
    return this.#isGuarded ? Number.POSITIVE_INFINITY : Math.max(0, this.#until - now);
  }
}

async function isDenying(cluster: Pick<Cluster, "get">): Promise<boolean> {
  const [policy, binding] = await Promise.all([
    cluster.get<V1ValidatingAdmissionPolicy>(nodesPolicyPath),
    cluster.get<V1ValidatingAdmissionPolicyBinding>(nodesBindingPath),
  ]);
  const { failurePolicy, validations = [] } = policy?.spec ?? {};
  const { policyName, validationActions = [], matchResources } = binding?.spec ?? {};
  const isWhole = failurePolicy === "Fail" && validations.length > 0;
  const isBound = policyName === nodesPolicy && matchResources === undefined;
  return isWhole && isBound && validationActions.includes("Deny");
}

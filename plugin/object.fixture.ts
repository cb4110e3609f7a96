/** For tests: GlobalPullSecrets as the controller writes them. */
import type { ConditionType } from "#api/reasons.ts";
import { reasonOf } from "#contract/node-codes.ts";
import type {
  GlobalPullSecret,
  GlobalPullSecretSpec,
  GlobalPullSecretStatus,
  StatusCondition,
} from "#api/global-pull-secret.ts";

type Reported = Readonly<{
  spec?: GlobalPullSecretSpec;
  status?: GlobalPullSecretStatus;
  generation?: number;
  metadata?: GlobalPullSecret["metadata"];
}>;

const since = "2026-11-23T09:00:00Z";

function condition(
  type: ConditionType,
  status: StatusCondition["status"],
  reason: string,
  message: string,
): StatusCondition {
  return { type, status, reason, message, lastTransitionTime: since };
}

/**
 * The conditions Ready, Reconciling and Stalled. One of them is True. `next`: who has to act next.
 */
export function conditionsOf(
  next: "nobody" | "controller" | "person",
  reason: string,
  message: string,
): StatusCondition[] {
  const truth = (is: boolean) => (is ? "True" : "False");
  return [
    condition("Ready", truth(next === "nobody"), reason, message),
    condition("Reconciling", truth(next === "controller"), reason, message),
    condition("Stalled", truth(next === "person"), reason, message),
  ];
}

export const inForce = conditionsOf("nobody", "InForce", "revision 7 is on every node");
export const rolling = conditionsOf("controller", "RollingOut", "60 of 100 nodes have revision 8");
export const halted = conditionsOf("person", "Halted", "revision 8 failed on n7");

/**
 * A GlobalPullSecret. Its status describes the current spec, except if `status` has another
 * generation.
 */
export function object({ spec, status, generation = 3, metadata }: Reported): GlobalPullSecret {
  return {
    apiVersion: "globalpullsecret.io/v1alpha1",
    kind: "GlobalPullSecret",
    metadata: { name: "cluster", generation, resourceVersion: "900", ...metadata },
    spec: { managementState: "Managed", ...spec },
    ...(status && { status: { observedGeneration: generation, ...status } }),
  };
}

/** The source additional-pull-secret, with the versions that are read and served. */
export function source(resourceVersion: string, servedResourceVersion = resourceVersion) {
  return {
    name: "additional-pull-secret",
    resourceVersion,
    servedResourceVersion,
    accepted: "True",
    reason: "Accepted",
    message: "in order",
  } as const;
}

/** A GlobalPullSecret with a hundred nodes, of which three need a person or are unreachable. */
export const whole: GlobalPullSecret = object({
  status: {
    revision: {
      inForce: 7,
      pending: 8,
      refused: { revision: 6, since, reason: "NodesFailed" },
    },
    sources: [
      source("812", "790"),
      {
        name: "team-a",
        resourceVersion: "80",
        accepted: "False",
        reason: "Rejected",
        message: "GPS101 team-a: document: not JSON; correct it",
      },
      {
        name: "team-b",
        accepted: "False",
        reason: "Missing",
        message: "there is no Secret team-b",
      },
    ],
    registries: [
      { registry: "quay.io", source: "additional-pull-secret", shadows: ["original"] },
      { registry: "ghcr.io/acme", source: "original" },
    ],
    registriesOmitted: 5,
    nodes: {
      summary: "97/100",
      desired: 100,
      updated: 97,
      available: 97,
      unfit: 1,
      unreachable: 1,
      failed: 1,
      silent: 0,
      waiting: [
        { reason: "Failed", nodes: 1 },
        { reason: "Unfit", nodes: 1 },
        { reason: "Unreachable", nodes: 1 },
      ],
    },
    failures: [
      { node: "n7", code: "GPS206", message: "GPS206 /host/kubelet is a link", since },
      { node: "n9", code: "GPS334", message: reasonOf("away"), since },
    ],
    conditions: [...rolling, condition("NodesLeftOut", "True", "NodesCannotBeServed", "n7, n8")],
  },
});

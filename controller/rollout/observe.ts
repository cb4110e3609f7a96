/** From the objects to what the decisions about grants see. Pure. */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestOf } from "#pullsecret/merge/digest.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { NodesRead, SecretFacts, Snapshot } from "./facts.ts";
import { contentDigest, isEdited, type Published } from "#controller/objects/global-secret.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { templateDigest } from "#controller/objects/daemonset.ts";
import { readState } from "#controller/objects/state.ts";
import type { Policy } from "#controller/policy/policy.ts";
import type { Snapshot as Objects } from "#controller/sources/snapshot.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { RolloutContext } from "./context.ts";
import { modeOf, templateOf, type AgentPod } from "./pods.ts";
import { contentHash, contentIn, readRollout } from "./state.ts";

export type Seen = Readonly<{
  objects: Pick<Objects, "global" | "state" | "daemonSet">;
  published: Published | undefined;
  wanted: WantedContent;
  pods: Iterable<AgentPod>;
  nodes: NodesRead;
  /**
   * Whether the API server would change the DaemonSet if it were written as declared; `refused`: it
   * refuses that, so the live one counts as current.
   */
  drift: "none" | "some" | "refused";
  retry: string;
}>;

export function factsOf(
  { agent, policy }: Pick<RolloutContext, "agent" | "policy">,
  { objects, published, wanted, pods, nodes, drift, retry }: Seen,
): Snapshot {
  const { global, daemonSet } = objects;
  const { accepted, rollout } = readState(objects.state);
  const live = templateOf(daemonSet?.spec?.template.metadata?.annotations);
  const remain = Object.keys(accepted);
  // Somebody edited it: agents may hold content under a revision that was never published.
  const intact = isEdited(global) ? undefined : published;
  const served = intact?.served === "nothing" ? undefined : intact?.served;
  const { desiredNumberScheduled: desired = 0 } = daemonSet?.status ?? {};
  return {
    secret: intact && secretFacts(intact, agent.delivery.mode),
    state: readRollout(rollout),
    template: templateFacts(daemonSet, agent, { drift, isNeeded: wanted.intent === "release" }),
    pods: Array.from(pods, (pod) => ({ ...pod, isCurrent: pod.template === live })),
    nodes,
    desired,
    wanted: {
      intent: wanted.intent === "release" ? "release" : "apply",
      digest: intact === undefined ? "" : digestWith(intact.salt, wanted),
      isKnown: contentIn(rollout) === contentHash(wanted),
      mode: agent.delivery.mode,
      withdraws: {
        newest: takesBack(intact?.sources, wanted.sources, remain),
        served: takesBack(served?.sources, wanted.sources, remain),
      },
    },
    policy: grantPolicy(policy, desired),
    isPaused: policy.managementState === "Paused",
    retry,
  };
}

/**
 * The template. `isNeeded`: nodes must be asked, so a DaemonSet that somebody deleted is one that
 * has to be written.
 */
function templateFacts(
  live: V1DaemonSet | undefined,
  agent: Agent,
  { drift, isNeeded }: Readonly<{ drift: Seen["drift"]; isNeeded: boolean }>,
): Snapshot["template"] {
  if (live === undefined) return isNeeded ? { isCurrent: false, mode: undefined } : undefined;
  return {
    isCurrent:
      drift === "refused" || (drift === "none" && declaredDigest(live) === templateDigest(agent)),
    mode: modeOf(live.spec?.template.metadata?.annotations),
  };
}

/** The template's digest, without the time of a `kubectl rollout restart`. */
const declaredDigest = (live: V1DaemonSet): string =>
  templateOf(live.spec?.template.metadata?.annotations).split(" ")[0] ?? "";

const digestWith = (salt: Buffer, { document, sources, intent }: WantedContent): string =>
  digestOf({ salt, intent, sources: Buffer.from(sources), document: Buffer.from(document) });

function secretFacts(published: Published, mode: DeliveryMode): SecretFacts {
  const { revision, intent, served, publishedAt } = published;
  return {
    revision,
    digest: contentDigest(published),
    mode: published.mode ?? mode,
    intent: intent === "release" ? "release" : "apply",
    served: served === undefined || served === "nothing" ? 0 : served.revision,
    publishedAt,
  };
}

/** The budget in nodes, rounded up and at least 1, as the DaemonSet controller does. */
export function budgetNodes(budget: number | string, desired: number): number {
  const nodes =
    typeof budget === "number" ? budget : Math.ceil((Number.parseInt(budget, 10) * desired) / 100);
  return Math.max(1, nodes);
}

/**
 * How many nodes may fail before a rollout halts. A percentage is rounded down: 1% of 20 nodes
 * allows none.
 */
export function failuresAllowed(most: number | string, desired: number): number {
  return typeof most === "number" ? most : Math.floor((Number.parseInt(most, 10) * desired) / 100);
}

function grantPolicy(
  { rollout, withdrawal }: Pick<Policy, "rollout" | "withdrawal">,
  desired: number,
): Snapshot["policy"] {
  const { maxUnavailable, maxFailures, minIntervalSeconds, probationSeconds } = rollout;
  return {
    maxUnavailable: maxUnavailable === "100%" ? "all" : budgetNodes(maxUnavailable, desired),
    maxFailures: failuresAllowed(maxFailures, desired),
    forgetAfter: withdrawal.forgetAfterSeconds,
    minInterval: minIntervalSeconds,
    probation: probationSeconds,
  };
}

/**
 * True when a source supplied a registry before, supplies none after, and is not among those that
 * `remain`: one whose entries another source overrides has taken nothing back. Both texts are JSON,
 * registry → source, as global-pull-secret holds them. A malformed one supplies nothing.
 */
export function takesBack(
  before: string | undefined,
  after: string | undefined,
  remain: readonly string[],
): boolean {
  const left = new Set<unknown>([...suppliers(after), ...remain]);
  return [...suppliers(before)].some((source) => !left.has(source));
}

function suppliers(sources: string | undefined): ReadonlySet<unknown> {
  try {
    return new Set(Object.values(JSON.parse(sources ?? "{}") as object));
  } catch {
    return new Set();
  }
}

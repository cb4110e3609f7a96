/**
 * Translates the objects into the snapshot for a decision, and reads the rollout's part of the
 * state Secret. Pure.
 */
import { fieldsOf } from "#contract/fields.ts";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestOf } from "#pullsecret/merge/digest.ts";
import { type PublishedMode, publishedMode, type RevisionContent } from "#contract/names.ts";
import {
  type NodesRead,
  type SecretFacts,
  type Snapshot,
  mostListed,
  stateOf,
  type StateFacts,
} from "./facts.ts";
import { contentDigest, isEdited, type Published } from "#controller/objects/global-secret.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { templateDigest } from "#controller/objects/daemonset.ts";
import { readState } from "#controller/objects/state.ts";
import type { Policy } from "#controller/policy/policy.ts";
import type { Snapshot as Objects } from "#controller/sources/snapshot.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { RolloutContext } from "./write.ts";
import { modeOf, templateOf, type AgentPod } from "./pods.ts";
import { createHash } from "node:crypto";

export type Observed = Readonly<{
  objects: Pick<Objects, "global" | "state" | "daemonSet">;
  published: Published | undefined;
  target: WantedContent;
  pods: Iterable<AgentPod>;
  nodes: NodesRead;
  /**
   * Whether a write of the declared DaemonSet would change the live DaemonSet. `refused`: the API
   * server refuses the write, so the live DaemonSet counts as current.
   */
  drift: "none" | "some" | "refused";
  retry: string;
}>;

export function factsOf(
  { agent, policy }: Pick<RolloutContext, "agent" | "policy">,
  { objects, published, target, pods, nodes, drift, retry }: Observed,
): Snapshot {
  const { global, daemonSet } = objects;
  const { accepted, rollout } = readState(objects.state);
  const live = templateOf(daemonSet?.spec?.template.metadata?.annotations);
  const remain = Object.keys(accepted);
  // An edited Secret counts as absent, because agents might have content that was never published
  // under its revision.
  const intact = isEdited(global) ? undefined : published;
  const served = intact?.served === "nothing" ? undefined : intact?.served;
  const { desiredNumberScheduled: desired = 0 } = daemonSet?.status ?? {};
  return {
    secret: intact && secretFacts(intact, publishedMode(agent.delivery)),
    state: readRollout(rollout),
    template: templateFacts(daemonSet, agent, { drift, isNeeded: target.intent === "release" }),
    pods: Array.from(pods, (pod) => ({ ...pod, isCurrent: pod.template === live })),
    nodes,
    desired,
    target: {
      intent: target.intent === "release" ? "release" : "apply",
      digest: intact === undefined ? "" : digestWith(intact.salt, target),
      isKnown: contentIn(rollout) === contentHash(target),
      mode: publishedMode(agent.delivery),
      withdraws: {
        newest: withdrawsSource(intact?.sources, target.sources, remain),
        served: withdrawsSource(served?.sources, target.sources, remain),
      },
    },
    policy: grantPolicy(policy, desired),
    isPaused: policy.managementState === "Paused",
    retry,
  };
}

/**
 * The facts about the template. `isNeeded`: the agents must run, so the controller must write a
 * deleted DaemonSet again.
 */
function templateFacts(
  live: V1DaemonSet | undefined,
  agent: Agent,
  { drift, isNeeded }: Readonly<{ drift: Observed["drift"]; isNeeded: boolean }>,
): Snapshot["template"] {
  if (live === undefined) return isNeeded ? { isCurrent: false, mode: undefined } : undefined;
  return {
    isCurrent:
      drift === "refused" || (drift === "none" && declaredDigest(live) === templateDigest(agent)),
    mode: modeOf(live.spec?.template.metadata?.annotations),
  };
}

/** The digest of the template, not including the time of a `kubectl rollout restart`. */
const declaredDigest = (live: V1DaemonSet): string =>
  templateOf(live.spec?.template.metadata?.annotations).split(" ")[0] ?? "";

const digestWith = (salt: Buffer, { document, sources, intent }: WantedContent): string =>
  digestOf({ salt, intent, sources: Buffer.from(sources), document: Buffer.from(document) });

function secretFacts(published: Published, mode: PublishedMode): SecretFacts {
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

/** The budget in nodes: rounded up and at least 1, as the DaemonSet controller does it. */
export function budgetNodes(budget: number | string, desired: number): number {
  const nodes =
    typeof budget === "number" ? budget : Math.ceil((Number.parseInt(budget, 10) * desired) / 100);
  return Math.max(1, nodes);
}

/**
 * How many nodes are allowed to fail before a rollout halts. A percentage is rounded down: 1% of 20
 * nodes allows none.
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
 * True when a source supplied a registry before, supplies none now, and is not among the sources
 * that `remain`. (A source whose entries another source overrides has withdrawn nothing.) Both
 * texts are JSON, registry → source, as in global-pull-secret. A malformed text supplies nothing.
 */
export function withdrawsSource(
  before: string | undefined,
  after: string | undefined,
  remain: readonly string[],
): boolean {
  const remainingSources = new Set<unknown>([...suppliers(after), ...remain]);
  return [...suppliers(before)].some((source) => !remainingSources.has(source));
}

function suppliers(sources: string | undefined): ReadonlySet<unknown> {
  try {
    return new Set(Object.values(JSON.parse(sources ?? "{}") as object));
  } catch {
    return new Set();
  }
}

/** Reads the rollout's state. Malformed fields read as empty. */
export function readRollout(value: unknown): StateFacts {
  const fields: Partial<Record<keyof StateFacts, unknown>> = fieldsOf(value);
  const retry = typeof fields.retry === "string" ? fields.retry : "";
  const none = stateOf(0, { retry, replaced: namesOf(fields.replaced) });
  if (!Number.isSafeInteger(fields.revision) || (fields.revision as number) < 0) return none;
  return {
    ...none,
    revision: fields.revision as number,
    word: fields.word === true,
    base: timeOf(fields.base),
    awaited: timeOf(fields.awaited),
    canary: readCanary(fields.canary),
    halted: fields.halted === true,
    failed: namesOf(fields.failed),
    lost: namesOf(fields.lost),
  };
}

const timeOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : -1;

/**
 * A hash to recognize content after its Secret was lost. The hash has no salt, because the state
 * contains the sources' documents anyway.
 */
export const contentHash = ({ intent, sources, document }: RevisionContent): string =>
  createHash("sha256")
    .update(JSON.stringify([intent, sources, document]))
    .digest("hex");

/** The hash of the content that was published when this state was written. Undefined if unknown. */
const contentIn = (value: unknown): unknown => fieldsOf(value)["content"];

function readCanary(value: unknown): StateFacts["canary"] {
  const { node, uid } = fieldsOf(value);
  return typeof node === "string" && typeof uid === "string" ? { node, uid } : undefined;
}

const namesOf = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value.filter((name): name is string => typeof name === "string").slice(0, mostListed)
    : [];

/**
 * The longest retry request. Further characters are cut off. A request is usually a time, which is
 * far shorter.
 */
const longestRetry = 256;

/**
 * The retry requests as one text. It differs from `recorded` if there is a new request. Several
 * objects can request a retry, each with its own value. If an object's value is removed, the text
 * keeps the last value. So neither removing an annotation nor adding it again triggers a retry.
 */
export function retryOf(asked: readonly string[], recorded: string): string {
  const before = readRequests(recorded);
  const values = asked.map((value, at) => value.slice(0, longestRetry) || (before[at] ?? ""));
  return values.every((value, at) => value === (before[at] ?? ""))
    ? recorded
    : JSON.stringify(values);
}

function readRequests(recorded: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(recorded);
    return Array.isArray(parsed)
      ? parsed.map((request) => (typeof request === "string" ? request : ""))
      : [];
  } catch {
    return [];
  }
}

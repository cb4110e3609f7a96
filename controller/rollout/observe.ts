/** From the objects to what the decisions about grants see. Pure. */
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestOf } from "#pullsecret/merge/digest.ts";
import type { DeliveryMode, RevisionContent } from "#contract/names.ts";
import {
  type NodesRead,
  type SecretFacts,
  type Snapshot,
  mostListed,
  stateOf,
  type StateFacts,
} from "./facts.ts";
import {
  contentDigest,
  isEdited,
  type Published,
  readPublished,
} from "#controller/objects/global-secret.ts";
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
  { objects, published, wanted, pods, nodes, drift, retry }: Observed,
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
  { drift, isNeeded }: Readonly<{ drift: Observed["drift"]; isNeeded: boolean }>,
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

/** Reads what was remembered. Whatever is malformed reads as nothing. */
export function readRollout(value: unknown): StateFacts {
  const found = (typeof value === "object" && value !== null ? value : {}) as Partial<
    Record<keyof StateFacts, unknown>
  >;
  const retry = typeof found.retry === "string" ? found.retry : "";
  const none = stateOf(0, { retry, replaced: namesOf(found.replaced) });
  if (!Number.isSafeInteger(found.revision) || (found.revision as number) < 0) return none;
  return {
    ...none,
    revision: found.revision as number,
    word: found.word === true,
    base: timeOf(found.base),
    awaited: timeOf(found.awaited),
    canary: readCanary(found.canary),
    halted: found.halted === true,
    failed: namesOf(found.failed),
    lost: namesOf(found.lost),
  };
}

const timeOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : -1;

/**
 * What a content is recognized by after its Secret was lost. Not salted: the state holds the
 * documents of the sources anyway.
 */
export const contentHash = ({ intent, sources, document }: RevisionContent): string =>
  createHash("sha256")
    .update(JSON.stringify([intent, sources, document]))
    .digest("hex");

/** The hash of the content that was published when this was written; undefined if unknown. */
const contentIn = (value: unknown): unknown =>
  typeof value === "object" && value !== null
    ? (value as { content?: unknown }).content
    : undefined;

function readCanary(value: unknown): StateFacts["canary"] {
  if (typeof value !== "object" || value === null) return undefined;
  const { node, uid } = value as Record<string, unknown>;
  return typeof node === "string" && typeof uid === "string" ? { node, uid } : undefined;
}

const namesOf = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value.filter((one): one is string => typeof one === "string").slice(0, mostListed)
    : [];

/** Most characters of a request that count: a time has ten. */
const longestRetry = 256;

/**
 * The requests for a retry, as one text that differs from the `known` one if there is a new
 * request. Several objects may ask, each by a value of its own. The last value of each is kept when
 * it is removed, so that a removed annotation asks for nothing, and neither does one that returns.
 */
export function retryOf(asked: readonly string[], known: string): string {
  const before = readRequests(known);
  const values = asked.map((value, at) => value.slice(0, longestRetry) || (before[at] ?? ""));
  return values.every((value, at) => value === (before[at] ?? "")) ? known : JSON.stringify(values);
}

function readRequests(known: string): readonly string[] {
  try {
    const found: unknown = JSON.parse(known);
    return Array.isArray(found) ? found.map((one) => (typeof one === "string" ? one : "")) : [];
  } catch {
    return [];
  }
}

/**
 * The directory of the agents that exist, where the installer names another one and something may
 * be in force; else undefined. Nothing is, while no node has proved anything: so a wrong directory,
 * in which no agent takes anything (GPS261), can be corrected.
 */
export function keptDirectory(
  { daemonSet, global, state }: Pick<Objects, "daemonSet" | "global" | "state">,
  wanted: string,
): string | undefined {
  const published = readPublished(global);
  if (published === undefined) return undefined;
  const isProved = readRollout(readState(state).rollout).word || published.served !== "nothing";
  if (!isProved && published.intent !== "release") return undefined;
  const { volumes } = daemonSet?.spec?.template.spec ?? {};
  const present = volumes?.find(({ name }) => name === "kubelet")?.hostPath?.path;
  return present === wanted ? undefined : present;
}

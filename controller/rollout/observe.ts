/**
 * Translates the objects into the snapshot for a decision, and reads the rollout's part of the
 * state Secret. Pure.
 */
import { fieldsOf } from "#contract/fields.ts";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { digestOf } from "#pullsecret/merge/digest.ts";
import { type PublishedMode, publishedMode, type RevisionContent } from "#contract/names.ts";
import { isRevision } from "#contract/order.ts";
import {
  mostListed,
  type NodeFacts,
  type SecretFacts,
  type Snapshot,
  stateOf,
  type StateFacts,
} from "./facts.ts";
import {
  contentDigest,
  hasOtherRegistries,
  isEdited,
  type Published,
} from "#controller/objects/global-secret.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { templateDigest } from "#controller/objects/daemonset.ts";
import { readState } from "#controller/objects/state.ts";
import type { Policy } from "#controller/policy/policy.ts";
import type { Snapshot as Objects } from "#controller/sources/snapshot.ts";
import type { WantedContent } from "#controller/sources/accept.ts";
import type { RolloutContext } from "./write.ts";
import {
  type AgentPod,
  modeOf,
  type NodeMetadata,
  type NodeObject,
  templateOf,
} from "./objects.ts";
import { createHash } from "node:crypto";

/** By the names of the pods, and of the Nodes. */
export type Kept = Readonly<{
  pods: ReadonlyMap<string, AgentPod>;
  objects: ReadonlyMap<string, NodeObject>;
  nodes: ReadonlyMap<string, NodeMetadata>;
}>;

export const nothingKept: Kept = { pods: new Map(), objects: new Map(), nodes: new Map() };

export type Observed = Readonly<{
  now: number;
  objects: Pick<Objects, "global" | "state" | "daemonSet">;
  published: Published | undefined;
  target: WantedContent;
  kept: Kept;
  isGuarded: boolean;
  /** Whether the next write of this node's object must wait, because the last was refused. */
  isRefused: (node: string) => boolean;
  /**
   * Whether a write of the declared DaemonSet would change the live DaemonSet. `refused`: the API
   * server refuses the write, so the live DaemonSet counts as current.
   */
  drift: "none" | "some" | "refused";
  retry: string;
}>;

export function factsOf(
  { agent, policy }: Pick<RolloutContext, "agent" | "policy">,
  { now, objects, published, target, kept, isGuarded, isRefused, drift, retry }: Observed,
): Snapshot {
  const { global, daemonSet } = objects;
  const { rollout } = readState(objects.state);
  // An edited Secret counts as absent, because agents might have content that was never published
  // under its revision.
  const intact = isEdited(global) ? undefined : published;
  const secret = intact && secretFacts(intact, publishedMode(agent.delivery));
  const digest = intact === undefined ? "" : digestWith(intact.salt, target);
  return {
    now,
    secret,
    state: readRollout(rollout),
    template: templateFacts(daemonSet, agent, drift),
    ...nodeFacts(kept, templateOf(daemonSet?.spec?.template.metadata?.annotations), isRefused),
    target: {
      intent: target.intent === "release" ? "release" : "apply",
      digest,
      isKnown: contentIn(rollout) === contentHash(target),
      mode: publishedMode(agent.delivery),
      removes: digest !== secret?.digest && removesRegistry(intact, target),
    },
    policy: rolloutPolicy(policy, kept.nodes.size),
    isPaused: policy.managementState === "Paused",
    isGuarded,
    retry,
  };
}

/** True if the newest or the served content has a registry that the wanted content lacks. */
function removesRegistry(published: Published | undefined, { document }: WantedContent): boolean {
  if (published === undefined) return false;
  const { served } = published;
  return (
    hasOtherRegistries(published, document) ||
    (served !== "nothing" && hasOtherRegistries(served, document))
  );
}

/** Joins each Node with its pod and its NodePullSecret. `template`: of the present DaemonSet. */
function nodeFacts(
  { pods, objects, nodes }: Kept,
  template: string,
  isRefused: Observed["isRefused"],
): Pick<Snapshot, "nodes" | "orphans"> {
  const podByNode = new Map<string, AgentPod>();
  for (const pod of pods.values()) {
    const other = podByNode.get(pod.node);
    if (other === undefined || isNewer(pod, other)) podByNode.set(pod.node, pod);
  }
  const factsOfNode = (node: NodeMetadata): NodeFacts => {
    const pod = podByNode.get(node.name);
    const object = objects.get(node.name);
    return {
      ...node,
      pod: pod && { ...pod, isCurrent: pod.template === template },
      object: object && isOf(object, node) ? object : undefined,
      isRefused: isRefused(node.name),
    };
  };
  return {
    nodes: Array.from(nodes.values(), factsOfNode),
    orphans: [...objects.values()]
      .filter((object) => object.nodeUid !== "" && !isOf(object, nodes.get(object.name)))
      .map((object) => ({ name: object.name, uid: object.nodeUid, object })),
  };
}

/** True if this pod of a node counts, and not the other one. */
const isNewer = (pod: AgentPod, other: AgentPod): boolean =>
  pod.isDeleting === other.isDeleting ? pod.created > other.created : other.isDeleting;

/**
 * True for the NodePullSecret of this Node, and not of an earlier Node with the same name. Without
 * an owner, the name alone counts.
 */
const isOf = ({ nodeUid }: NodeObject, node: NodeMetadata | undefined): boolean =>
  node !== undefined && (nodeUid === "" || nodeUid === node.uid);

function templateFacts(
  live: V1DaemonSet | undefined,
  agent: Agent,
  drift: Observed["drift"],
): Snapshot["template"] {
  if (live === undefined) return undefined;
  return {
    isCurrent:
      drift === "refused" || (drift === "none" && declaredDigest(live) === templateDigest(agent)),
    mode: modeOf(live.spec?.template.metadata?.annotations),
    maxUnavailable: maxUnavailableOf(live),
  };
}

/**
 * How many pods a rolling update replaces at a time. If someone wrote another form, that is drift.
 */
export function maxUnavailableOf({ spec }: V1DaemonSet): number {
  const { maxUnavailable } = spec?.updateStrategy?.rollingUpdate ?? {};
  return typeof maxUnavailable === "number" ? maxUnavailable : 1;
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
    served: served === "nothing" ? 0 : served.revision,
    publishedAt,
  };
}

/** A number of nodes, or a percentage of them. */
const nodesOf = (number: number | string, desired: number): number =>
  typeof number === "number" ? number : (Number.parseInt(number, 10) * desired) / 100;

/** The budget in nodes: rounded up and at least 1, as the DaemonSet controller does it. */
export const budgetNodes = (budget: number | string, desired: number): number =>
  Math.max(1, Math.ceil(nodesOf(budget, desired)));

/**
 * How many nodes are allowed to fail before a rollout halts. A percentage is rounded down: 1% of 20
 * nodes allows none.
 */
export const failuresAllowed = (most: number | string, desired: number): number =>
  Math.floor(nodesOf(most, desired));

function rolloutPolicy(
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

/** Reads the rollout's state. Malformed fields read as empty. */
export function readRollout(value: unknown): StateFacts {
  const fields: Partial<Record<keyof StateFacts, unknown>> = fieldsOf(value);
  const lasting = {
    retry: typeof fields.retry === "string" ? fields.retry : "",
    bucketUntil: numberOf(fields.bucketUntil),
    served: fields.served === true,
  };
  if (!isRevision(fields.revision)) return stateOf(0, 0, lasting);
  return {
    ...stateOf(fields.revision, numberOf(fields.since), lasting),
    proved: fields.proved === true,
    asked: uidsOf(fields.asked),
    failed: uidsOf(fields.failed),
    lost: uidsOf(fields.lost),
  };
}

const numberOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) ? value : 0;

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

const uidsOf = (value: unknown): readonly string[] =>
  Array.isArray(value)
    ? value.filter((uid): uid is string => typeof uid === "string").slice(0, mostListed)
    : [];

/** The longest retry request. A request is usually a time, which is far shorter. */
const longestRetry = 256;

/**
 * The last retry request. If the annotation is removed, the recorded request stays, so neither
 * removing the annotation nor adding it again triggers a retry.
 */
export const retryOf = (asked: string, recorded: string): string =>
  asked.slice(0, longestRetry) || recorded;

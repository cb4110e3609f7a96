/**
 * The evidence about the newest content: what each node's object shows, what the state records, and
 * whether the rollout is halted. Pure.
 */
import { usualSeconds } from "#contract/times.ts";
import {
  mostListed,
  stateOf,
  type NodeFacts,
  type ObjectFacts,
  type SecretFacts,
  type Snapshot,
  type StateFacts,
  type View,
} from "./facts.ts";

/** A snapshot in which global-pull-secret exists. `state` is about its revision. */
export type Published = Snapshot & Readonly<{ secret: SecretFacts }>;

/**
 * - `current`: the node has the newest content, or has confirmed the release.
 * - `unasked`: the node was not asked for the newest content since the publication or the last
 *   retry.
 * - `atWork`, `silent`: it has not answered, and its usual time has not passed, or has passed.
 * - `failed`, `refused`: it has answered.
 */
export type Verdict = "current" | "unasked" | "atWork" | "silent" | "failed" | "refused";

export type NodeEvidence = Readonly<{
  node: NodeFacts;
  verdict: Verdict;
  /** The node's last order, whatever its content, is unanswered within its usual time. */
  isAtWork: boolean;
}>;

export type Evidence = Readonly<{
  nodes: readonly NodeEvidence[];
  /** How many nodes have proved the newest content. */
  proved: number;
  /** The state with the new evidence. */
  state: StateFacts;
}>;

/** Seconds after which a node that has not answered is silent. */
export const usualTime = ({ policy }: Published): number => usualSeconds(policy.probation);

/** Seconds that a Node has for its first content if it joins after the publication. */
const youngSeconds = 120;

/**
 * Seconds for which a Node without the newest content does not count yet. A Node of the future
 * counts: the API server's clock was set back since its creation.
 */
export function untilCounted({ created }: NodeFacts, { now, secret }: Published): number {
  const isYoung = created > secret.publishedAt && created <= now + aheadSeconds;
  return isYoung ? created + youngSeconds - now : 0;
}

/**
 * Whether the node has its usual time now. If the clock was set back, that time is over as well.
 */
const isInTime = (snapshot: Published, since: number): boolean =>
  Math.abs(snapshot.now - since) <= usualTime(snapshot);

type Content = Readonly<{ revision: number; digest: string }>;

/** Whether a node's order or report is about the content that was published last. */
export const isNewest = ({ secret }: Published, content: Content | undefined): boolean =>
  content?.revision === secret.revision && content.digest === secret.digest;

const isAnswered = ({ order, report }: ObjectFacts): boolean =>
  order !== undefined && report?.attempt === order.attempt;

/** What the object shows about the newest content. `Verdict` explains the results. */
export function verdictOf(snapshot: Published, object: ObjectFacts | undefined): Verdict {
  const { secret, state } = snapshot;
  const { order, report } = object ?? {};
  const isRelease = secret.intent === "release";
  const isReported = isNewest(snapshot, report);
  if (isReported && report?.result === (isRelease ? "Removed" : "Proved")) return "current";
  // A release asks every node at once, without an order.
  const isAsked = isNewest(snapshot, order) && (order?.attempt ?? 0) >= state.since;
  if (!isRelease && !isAsked) return "unasked";
  if (isRelease ? isReported : object !== undefined && isAnswered(object))
    return report?.result === "Failed" ? "failed" : "refused";
  const since = isRelease ? secret.publishedAt : (order?.attempt ?? 0);
  return isInTime(snapshot, since) ? "atWork" : "silent";
}

function evidenceOf(snapshot: Published, node: NodeFacts): NodeEvidence {
  const verdict = verdictOf(snapshot, node.object);
  const { object } = node;
  const isOpen = object?.order !== undefined && !isAnswered(object) && verdict !== "current";
  const isAtWork = isOpen && isInTime(snapshot, object?.order?.attempt ?? 0);
  return { node, verdict, isAtWork };
}

/** How many contents are published at once before one is published in `burstSeconds`. */
const burst = 6;
export const burstSeconds = 600;

/**
 * The state of the Secret's revision. A state of another revision is replaced, because another
 * content is newest now. Its publication takes a place of the bucket. A removal, which does not
 * wait for a place, takes none if the bucket is full.
 */
export function adoptState({ state: stored, secret, now }: Published): StateFacts {
  const state = atPresent(stored, now);
  if (state.revision === secret.revision) return state;
  const next = Math.floor(Math.max(now, state.bucketUntil)) + burstSeconds;
  return stateOf(secret.revision, Math.floor(Math.min(secret.publishedAt, now)), {
    retry: state.retry,
    served: state.served || secret.served > 0,
    bucketUntil: untilPlace(state, now) > 0 ? state.bucketUntil : next,
  });
}

/**
 * If the API server's clock was set back, new orders would look older than the content, and places
 * of the bucket would be taken for longer.
 */
function atPresent(state: StateFacts, now: number): StateFacts {
  const latest = now + aheadSeconds;
  const isOfNow = state.since <= latest && state.bucketUntil <= latest + burst * burstSeconds;
  return isOfNow
    ? state
    : { ...state, since: Math.min(state.since, Math.floor(now)), bucketUntil: 0 };
}

/** Seconds until the bucket of publications has a free place. At most 0 if it has one. */
export const untilPlace = ({ bucketUntil }: StateFacts, now: number): number =>
  bucketUntil - now - (burst - 1) * burstSeconds;

/** The clocks of two API servers differ by less than this. A time further ahead was set back. */
export const aheadSeconds = 60;

/**
 * Follows a new retry request: forgets the failed and the lost nodes, and asks them again. Their
 * former orders do not count any more. A pause delays the retry.
 */
export function followRetry({ retry, isPaused, now }: Snapshot, state: StateFacts): StateFacts {
  if (retry === state.retry || isPaused) return state;
  const since = Math.max(Math.floor(now), state.since) + 1;
  return { ...state, retry, since, asked: [], failed: [], lost: [] };
}

/**
 * Examines every node, and records the first proof and the failed and lost nodes. A node whose Node
 * is gone before it answers is lost at once. Otherwise a cloud that replaces dead machines would
 * hide the evidence.
 */
export function gather(snapshot: Published): Evidence {
  const { state, secret, orphans, isGuarded } = snapshot;
  const nodes = snapshot.nodes.map((node) => evidenceOf(snapshot, node));
  const current = nodes.filter(({ verdict }) => verdict === "current").length;
  // Without the policy, one node could report for all nodes, so its reports must not be recorded.
  if (secret.intent === "release" || !isGuarded) return { nodes, proved: current, state };
  const verdicts = new Map<string, Verdict>();
  for (const uid of state.asked) verdicts.set(uid, "silent");
  // Once the content is served, joining nodes take it without being asked, so it is no evidence if
  // they never report.
  const isJoiner = ({ report }: ObjectFacts): boolean =>
    secret.served === secret.revision && report === undefined;
  for (const { uid, object } of orphans) {
    const verdict = verdictOf(snapshot, object);
    if (!isJoiner(object)) verdicts.set(uid, verdict === "atWork" ? "silent" : verdict);
  }
  for (const { node, verdict } of nodes)
    if (verdict !== "silent" || node.object === undefined || !isJoiner(node.object))
      verdicts.set(node.uid, verdict);
  const having = (verdict: Verdict): string[] =>
    [...verdicts.keys()].filter((uid) => verdicts.get(uid) === verdict);
  const isOpen = (uid: string): boolean => !answers.has(verdicts.get(uid));
  const isProved = state.proved || having("current").length > 0;
  const present = new Set(nodes.map(({ node }) => node.uid));
  const isOver = isRolloutOver(snapshot, nodes);
  const lost = listOf([...state.lost.filter(isOpen), ...having("silent")]).filter(
    (uid) => !isOver || present.has(uid),
  );
  const asked = isProved ? [] : state.asked.filter((uid) => isOpen(uid) && !lost.includes(uid));
  const failed = listOf([...state.failed, ...having("failed")]);
  return {
    nodes,
    proved: Math.max(current, isProved ? 1 : 0),
    state: { ...state, proved: isProved, asked, failed, lost },
  };
}

/**
 * The rollout is over when joining nodes get the content, and no running node waits for it that
 * counts. Then lost nodes that are gone are forgotten. Otherwise machines that die while they join
 * would halt good content after months.
 */
const isRolloutOver = (snapshot: Published, nodes: readonly NodeEvidence[]): boolean =>
  snapshot.secret.served === snapshot.secret.revision &&
  !nodes.some(
    ({ node, verdict }) =>
      (verdict === "unasked" || verdict === "atWork") &&
      node.pod?.isRunning === true &&
      !node.pod.isUnreachable &&
      untilCounted(node, snapshot) <= 0,
  );

const answers: ReadonlySet<Verdict | undefined> = new Set(["current", "failed", "refused"]);

/** A list of Nodes for the state, without repetitions and not too long. */
export const listOf = (uids: readonly string[]): readonly string[] =>
  [...new Set(uids)].slice(0, mostListed);

/**
 * Whether the evidence stops the rollout. One silent node proves nothing, because machines die at
 * any time. A halt is derived, so it ends when enough of the lost nodes answer.
 */
export function haltOf({ policy }: Snapshot, { state, proved }: Evidence): View["halt"] {
  const { failed, lost } = state;
  if (failed.length > policy.maxFailures) return { by: "failed", count: failed.length };
  const mostLost = state.proved ? 2 + Math.floor(proved / 10) : 1;
  return lost.length > mostLost ? { by: "lost", count: lost.length } : undefined;
}

/**
 * A survey of one snapshot: every pod with the state of its grant, the occupied slots, and the
 * Nodes that must be read. The steps of `decide` share it. `viewOf` derives what status reports.
 * Pure.
 */
import { grantSeconds } from "#contract/times.ts";
import {
  inheritsFailure,
  isNodeGone,
  stateOf,
  type Now,
  type PodFacts,
  type SecretFacts,
  type Snapshot,
  type StateFacts,
  type Action,
  type NodeState,
  type ListedNode,
  type View,
  holdsNewest,
  type Memory,
  type Place,
  type Raised,
  type PodRecord,
  type NewerContent,
} from "./facts.ts";
import {
  updateRecord,
  absenceSeconds,
  isRefused,
  judgeGrant,
  type GrantState,
  unbrokenSeconds,
  isAway,
} from "./node-state.ts";

/**
 * Seconds between two patches of a pod while admission refuses the patches: in the first minute,
 * and after that.
 */
const refusedSoonSeconds = 5;
const refusedAgainSeconds = 60;

export type SurveyedPod = Readonly<{ pod: PodFacts; record: PodRecord; grantState: GrantState }>;

/** A snapshot in the form that the steps need. */
export class Survey {
  readonly snapshot: Snapshot;
  readonly secret: SecretFacts;
  readonly now: Now;
  readonly pods: readonly SurveyedPod[];
  /**
   * The pod of each Node. If a Node has two pods, a pod that is not being deleted comes first, then
   * the younger pod.
   */
  readonly byNode: ReadonlyMap<string, SurveyedPod>;
  /** Slots of pods that were deleted while they held a grant. */
  readonly places: Map<string, Place>;
  /** Names of all Nodes that occupy a slot. */
  readonly taken: Set<string>;
  readonly actions: Action[] = [];
  /** Pods that get a grant in this decision. */
  readonly granted = new Set<string>();
  /**
   * Pods that this decision writes. The API server would refuse a second write with the same
   * version.
   */
  readonly written = new Set<string>();
  readonly records = new Map<string, PodRecord>();
  /** By Node name: the last publication that was a reaction to the node's reports. */
  readonly raised: Map<string, Raised>;
  readonly readNodes = new Set<string>();
  readAll = false;
  again = Number.POSITIVE_INFINITY;
  #state: StateFacts;

  constructor(snapshot: Snapshot, secret: SecretFacts, memory: Memory, now: Now) {
    this.snapshot = snapshot;
    this.secret = secret;
    this.now = now;
    const { state } = snapshot;
    this.#state = state.revision === secret.revision ? state : stateOf(secret.revision, state);
    const pods: SurveyedPod[] = [];
    const byNode = new Map<string, SurveyedPod>();
    this.taken = new Set();
    for (const pod of snapshot.pods) {
      const isRelease = secret.intent === "release" && pod.grant?.revision === secret.revision;
      const before = updateRecord(pod, memory.pods.get(pod.uid), now);
      const { mode = secret.mode, probation = snapshot.policy.probation } = pod;
      const seconds = grantSeconds(mode, probation);
      const inherits = inheritsFailure(pod, secret);
      const isServed = (pod.grant?.revision ?? 0) > 0 && pod.grant?.revision === secret.served;
      const { grantState, record, changesIn } = judgeGrant(pod, before, {
        now,
        isRelease,
        isServed,
        inherits,
        seconds,
      });
      const holds =
        grantState.is === "unproved" || grantState.is === "back" || record.sent !== undefined;
      const surveyed = { pod, record: { ...record, holds }, grantState };
      pods.push(surveyed);
      this.recheckIn(changesIn);
      if (holds) this.taken.add(pod.node);
      const other = byNode.get(pod.node)?.pod;
      if (other === undefined || isYounger(pod, other)) byNode.set(pod.node, surveyed);
      this.records.set(pod.uid, surveyed.record);
    }
    this.pods = pods;
    this.byNode = byNode;
    this.places = new Map(memory.places);
    this.raised = new Map(memory.raised);
    for (const [uid, { holds, node, created }] of memory.pods)
      if (holds && !this.records.has(uid)) this.places.set(node, { created, at: now.steady });
  }

  get state(): StateFacts {
    return this.#state;
  }

  /** Changes the state. Only `save` writes it. */
  change(changes: Partial<StateFacts>): void {
    this.#state = { ...this.#state, ...changes };
  }

  /** Saves the state. Two saves with no other action between them become one write. */
  save(): void {
    if (this.actions.at(-1)?.kind === "save") this.actions.pop();
    this.actions.push({ kind: "save", state: this.#state });
  }

  isRelease(): boolean {
    return this.secret.intent === "release";
  }

  /** True if a pause delays grants and retries. No pause delays a withdrawal that has begun. */
  isPaused(): boolean {
    return this.snapshot.isPaused && !this.isRelease();
  }

  /** True if new nodes get the newest content. */
  isPromoted(): boolean {
    return this.secret.served === this.secret.revision;
  }

  /** Requests the next decision after at most this many seconds. */
  recheckIn(seconds: number): void {
    if (seconds < this.again) this.again = Math.max(0, seconds);
  }

  /**
   * Whether the Node is gone. If this is unknown, returns undefined and requests to read the Node.
   */
  isGone(node: string, than: number): boolean | undefined {
    const gone = isNodeGone(this.snapshot.nodes, node, than);
    if (gone === undefined) this.readNodes.add(node);
    return gone;
  }

  /**
   * The uid of the pod's Node. If it is unknown, returns undefined and requests to read the Node.
   */
  uidOf({ node, uid }: PodFacts): string | undefined {
    const { byName, all } = this.snapshot.nodes;
    const nodeUid = byName.get(node)?.uid;
    if (nodeUid !== undefined) return nodeUid;
    // A pod whose Node is gone will soon be deleted. The pod's failure still counts, under the
    // pod's uid.
    if (all || byName.has(node)) return `pod/${uid}`;
    this.readNodes.add(node);
    return undefined;
  }

  /**
   * Whether the controller can patch the pod now. After a refusal by admission, the controller
   * first waits 5 s, or later 60 s.
   */
  mayPatch({ refused }: Pick<PodRecord, "refused">): boolean {
    if (refused === undefined) return true;
    const isLong = this.now.steady - refused.at >= absenceSeconds;
    const pause = isLong ? refusedAgainSeconds : refusedSoonSeconds;
    const remaining = pause - (this.now.steady - refused.last);
    if (remaining > 0) this.recheckIn(remaining);
    return remaining <= 0;
  }

  /** True while only one node is allowed to hold the newest content. */
  isAlone(): boolean {
    return this.lacksProof() && this.snapshot.policy.maxUnavailable !== "all";
  }

  /**
   * True while the promotion still needs a canary that proves the newest content with its agent's
   * termination message.
   */
  lacksProof(): boolean {
    return !this.isRelease() && !this.isPromoted() && !this.state.word;
  }

  /** Whether the pod is excused, by its grant's state or because admission refuses its grants. */
  isExcused({ record, grantState }: SurveyedPod): boolean {
    return grantState.is === "excused" || isRefused(record, this.now);
  }
}

const isYounger = (pod: PodFacts, other: PodFacts): boolean =>
  pod.isDeleting === other.isDeleting ? pod.created > other.created : other.isDeleting;

/**
 * Decides about the slots of pods that were deleted while they held a grant. A change on the pod's
 * node might still be under way. The slot is free when the node's next pod has been Ready for 3 s,
 * or when the Node is gone. If no pod becomes Ready within 60 s, the node has failed. Returns the
 * uids of failed Nodes.
 */
export function settlePlaces(survey: Survey): readonly string[] {
  const failed: string[] = [];
  for (const [node, place] of survey.places) {
    const successor = survey.byNode.get(node);
    const isGone = survey.isGone(node, place.created);
    const end = (): boolean => survey.places.delete(node);
    if (isGone === true) {
      end();
      continue;
    }
    const waited = survey.now.steady - (successor?.record.readyAt ?? place.at);
    if (successor?.pod.ready.is === true) {
      if (waited >= unbrokenSeconds) end();
      else survey.recheckIn(unbrokenSeconds - waited);
      continue;
    }
    const is = successor?.grantState.is;
    const isLost = successor ? is === "excused" || is === "failed" : waited >= absenceSeconds;
    if (!isLost) {
      survey.recheckIn(successor ? 1 : absenceSeconds - waited);
      continue;
    }
    // Until the Node is read, it has not failed, because it might be gone.
    const uid = survey.snapshot.nodes.byName.get(node)?.uid;
    if (uid === undefined) continue;
    // The slot stays occupied until the state contains the failure. So if the write is refused,
    // neither the failure nor the slot is lost.
    if (survey.isRelease() || survey.state.failed.includes(uid)) end();
    else failed.push(uid);
  }
  for (const node of survey.places.keys()) survey.taken.add(node);
  return failed;
}

const noCounts: Readonly<Record<NodeState, number>> = {
  current: 0,
  changing: 0,
  waiting: 0,
  starting: 0,
  failed: 0,
  excused: 0,
};

/** The view while no content is published. */
export const idleView: View = {
  phase: "idle",
  counts: noCounts,
  excused: [],
  failed: [],
  failures: 0,
  undeletable: [],
  places: 0,
  pending: "no",
};

/** The view of one survey, and the Nodes that have had no pod for 60 s. */
export function viewOf(survey: Survey, podless: Memory["podless"], newer: NewerContent): View {
  const counts = { ...noCounts };
  const lists: { failed: ListedNode[]; excused: ListedNode[] } = { failed: [], excused: [] };
  const undeletable: { node: string; why: string }[] = [];
  let hasOlder = false;
  for (const surveyed of survey.byNode.values()) {
    const { node, waitingReason } = surveyed.pod;
    const { nodeState, reason } = nodeStateOf(survey, surveyed);
    counts[nodeState] += 1;
    // A pod without a grant is new, and its node might have the content already.
    if (nodeState === "waiting" && surveyed.pod.grant !== undefined) hasOlder = true;
    if ((nodeState === "failed" || nodeState === "excused") && reason !== undefined)
      lists[nodeState].push({ node, reason, waitingReason, ...refusalOf(surveyed, reason) });
    // A pod of the current template needs no replacement.
    if (surveyed.record.refusedDeletion !== undefined && !surveyed.pod.isCurrent)
      undeletable.push({ node, why: surveyed.record.refusedDeletion.why });
  }
  for (const { node, at } of podless.values()) {
    const remaining = absenceSeconds - (survey.now.steady - at);
    if (remaining > 0) survey.recheckIn(remaining);
    else lists.excused.push({ node, reason: "podless", waitingReason: undefined });
  }
  return {
    phase: phaseOf(survey),
    counts,
    ...lists,
    failures: survey.state.failed.length,
    undeletable,
    places: survey.taken.size,
    pending: pendingOf(survey, newer, hasOlder),
  };
}

const refusalOf = (
  { record }: SurveyedPod,
  reason: ListedNode["reason"],
): Pick<ListedNode, "why"> =>
  reason === "admission" && record.refused !== undefined ? { why: record.refused.why } : {};

function phaseOf(survey: Survey): View["phase"] {
  if (survey.isRelease()) return "withdrawal";
  if (survey.state.halted) return "halted";
  if (survey.isPromoted()) return "served";
  return survey.isAlone() ? "canary" : "rollout";
}

type Found = Readonly<{ nodeState: NodeState; reason?: ListedNode["reason"] }>;

function nodeStateOf(survey: Survey, { pod, record, grantState }: SurveyedPod): Found {
  const over = record.over?.revision === survey.secret.revision ? record.over : undefined;
  // If an agent has failed and reported nothing since then, the failure still counts.
  if (over?.is === "failed" && grantState.is === "excused")
    return { nodeState: "failed", reason: over.because };
  if (grantState.is === "failed" || grantState.is === "excused")
    return { nodeState: grantState.is, reason: grantState.because };
  if (grantState.is === "proved" && holdsNewest(pod, survey.secret))
    return { nodeState: "current" };
  // The node counts as refused even while the controller tries the grant again.
  if (isRefused(record, survey.now)) return { nodeState: "excused", reason: "admission" };
  if (survey.taken.has(pod.node) && grantState.is !== "back") return { nodeState: "changing" };
  if (over !== undefined) return { nodeState: over.is, reason: over.because };
  const reported = stateFromMessage(survey, pod);
  if (reported !== undefined) return reported;
  if (grantState.is === "back") return { nodeState: "changing" };
  if (isAway(record, survey.now)) return { nodeState: "excused", reason: "away" };
  return { nodeState: pod.ready.is ? "waiting" : "starting" };
}

/**
 * The node's state from the termination message, which explains why a grant was revoked, even after
 * a restart of the controller.
 */
function stateFromMessage(
  survey: Survey,
  { grant, terminationMessage: message }: SurveyedPod["pod"],
): Found | undefined {
  if (grant?.revision !== 0 || message?.revision !== survey.secret.revision) return undefined;
  if (message.kind === "proved") return undefined;
  return message.kind === "failed"
    ? { nodeState: "failed", reason: "word" }
    : { nodeState: "excused", reason: message.kind };
}

/**
 * Why newer content waits, for status. During a halt, status reports the halt and not a pause,
 * because only a retry ends a halt. `hasOlder`: a node with a grant of older content waits.
 */
function pendingOf(
  survey: Survey,
  { cause, waitsFor }: NewerContent,
  hasOlder: boolean,
): View["pending"] {
  if (waitsFor !== undefined) return waitsFor;
  if (cause !== undefined) return "places";
  // The published content of another mode waits for the template, which the API server refuses.
  const { target } = survey.snapshot;
  if (target.intent === "apply" && target.mode !== survey.secret.mode) return "template";
  const { halted, awaited } = survey.state;
  const isPromoted = survey.isPromoted() && awaited < 0 && !hasOlder;
  const isOut = survey.pods.length === 0 || isPromoted;
  return survey.isPaused() && !halted && !isOut ? "paused" : "no";
}

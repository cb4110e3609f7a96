/**
 * What the controller remembers between two decisions: since when each pod has been as it is. Pure.
 * A restart forgets it, so that waits begin again, and places of deleted pods are lost.
 */
import { keyOf } from "#contract/grant.ts";
import type { Now, PodFacts, Snapshot } from "./facts.ts";

/** Why a node is not waited for. */
export type Excuse = "away" | "not-started" | "not-ready" | "unfit" | "behind" | "admission";

type Refused = Readonly<{ at: number; last: number; why: string }>;

/** All times are of `Now.steady`. */
export type Seen = Readonly<{
  node: string;
  created: number;
  /** ContainersReady and its transition time, and since when they have been seen so. */
  ready: string;
  readyAt: number;
  /** Since when the node has been seen unreachable. */
  awayAt: number | undefined;
  /** The grant, and since when it has been seen without a proof. */
  grant: string;
  grantAt: number;
  /** Since when the grant has been seen proved without a break. */
  provedAt: number | undefined;
  /** It was once seen proved for `settledSeconds`. */
  isSettled: boolean;
  /** Neither its readiness nor its grant has changed since this process first saw it. */
  isUnchanged: boolean;
  /** Its grant takes a place. */
  holds: boolean;
  /** How often `sync` was raised for this grant. */
  syncs: number;
  /**
   * A grant that was sent for this version of the pod and is not seen yet. `held`: the pod had a
   * place before.
   */
  sent: Readonly<{ resourceVersion: string; at: number; held: boolean }> | undefined;
  /** What became of the last grant that was taken back. */
  over:
    | Readonly<
        { revision: number } & (
          | { is: "failed"; because: "word" | "away" | "late" }
          | { is: "excused"; because: Excuse }
        )
      >
    | undefined;
  /** How often a grant of this revision has failed, and the last one that did. */
  failures: Readonly<{ revision: number; grant: string; count: number }> | undefined;
  /** Since when grants of this pod have been refused, when last, and why, in words to show. */
  refused: Refused | undefined;
  /** The same of its deletion for an upgrade. */
  kept: Refused | undefined;
  /** Writes of one version of the pod that had no effect, for a reason that is not known. */
  errors: Readonly<{ resourceVersion: string; count: number }> | undefined;
}>;

/** The place of a pod that was deleted under a grant. `created` is the pod's, an API time. */
export type Place = Readonly<{ created: number; at: number }>;

/**
 * A publication that the word of a Node caused, which was behind. `at`: when it last did; `count`:
 * how often; `revision`: what was published then.
 */
export type Raised = Readonly<{ at: number; count: number; revision: number }>;

export type Memory = Readonly<{
  /** By pod uid. */
  pods: ReadonlyMap<string, Seen>;
  /** By Node name. */
  places: ReadonlyMap<string, Place>;
  /** By Node uid: since when the Node has been seen without a pod. */
  podless: ReadonlyMap<string, Readonly<{ node: string; at: number }>>;
  /** By Node name: nodes whose word caused a publication. */
  raised: ReadonlyMap<string, Raised>;
  /**
   * Since when the number of pods has differed from the desired one; when all Nodes were last
   * listed, and what the difference was then.
   */
  list: Readonly<{ since: number | undefined; at: number | undefined; difference: number }>;
}>;

/** The memory of a process that has just started. */
export const noMemory: Memory = {
  pods: new Map(),
  places: new Map(),
  podless: new Map(),
  raised: new Map(),
  list: { since: undefined, at: undefined, difference: 0 },
};

/** Seconds for which a grant must be proved, so that what happens later is not its failure. */
export const settledSeconds = 60;

/** Seconds after which a request without an answer has no effect any more. */
const sentSeconds = 60;

/** Any other version of the pod shows what became of the grant that was sent for this one. */
const isUnseen = ({ sent }: Seen, { resourceVersion }: PodFacts, steady: number): boolean =>
  sent?.resourceVersion === resourceVersion && steady - sent.at < sentSeconds;

/** The memory of a pod after this look at it, apart from what its verdict adds. */
export function seePod(pod: PodFacts, before: Seen | undefined, { steady }: Now): Seen {
  const ready = `${pod.ready.is} ${pod.ready.since}`;
  const grant = pod.grant === undefined ? "" : keyOf(pod.grant);
  const isAway = pod.unreachable !== undefined;
  if (before === undefined)
    return {
      node: pod.node,
      created: pod.created,
      ready,
      readyAt: steady,
      awayAt: isAway ? steady : undefined,
      grant,
      grantAt: steady,
      provedAt: undefined,
      isSettled: false,
      isUnchanged: true,
      holds: false,
      syncs: 0,
      sent: undefined,
      over: undefined,
      failures: undefined,
      refused: undefined,
      kept: undefined,
      errors: undefined,
    };
  const isSame = before.grant === grant;
  return {
    ...before,
    ready,
    readyAt: before.ready === ready ? before.readyAt : steady,
    awayAt: isAway ? (before.awayAt ?? steady) : undefined,
    grant,
    grantAt: isSame ? before.grantAt : steady,
    provedAt: isSame ? before.provedAt : undefined,
    // To take back what was proved begins no change.
    isSettled: (isSame || pod.grant?.revision === 0) && before.isSettled,
    isUnchanged: isSame && before.isUnchanged && before.ready === ready,
    syncs: isSame ? before.syncs : 0,
    sent: isUnseen(before, pod, steady) ? before.sent : undefined,
    over: (pod.grant?.revision ?? 0) > 0 ? undefined : before.over,
    refused: isSame ? before.refused : undefined,
  };
}

/** Since when each Node without a pod has been seen so. Only a whole list shows one. */
export function seePodless(
  { nodes, pods }: Snapshot,
  before: Memory,
  { steady }: Now,
): Memory["podless"] {
  if (!nodes.all && before.podless.size === 0) return before.podless;
  const withPod = new Set(pods.map(({ node }) => node));
  if (!nodes.all) return new Map([...before.podless].filter(([, { node }]) => !withPod.has(node)));
  const podless = new Map<string, { node: string; at: number }>();
  for (const [name, node] of nodes.byName)
    if (node !== undefined && !withPod.has(name))
      podless.set(node.uid, before.podless.get(node.uid) ?? { node: name, at: steady });
  return podless;
}

/** Words of a refusal without a reason. */
const noWords = "its reason is not known";

/** Changes what is remembered of a pod, if anything is. */
type Note = (uid: string, change: (seen: Seen) => Seen) => void;

/**
 * Notes in `holder` what became of writes. The memory that is there is copied at the first note,
 * and only then: there may be 5,000 pods, and as many notes.
 */
export function noting(holder: { grants: Memory }): Note {
  let pods = new Map<string, Seen>();
  return (uid, change) => {
    const seen = holder.grants.pods.get(uid);
    if (seen === undefined) return;
    if (holder.grants.pods !== pods) {
      pods = new Map(holder.grants.pods);
      holder.grants = { ...holder.grants, pods };
    }
    pods.set(uid, change(seen));
  };
}

/**
 * What became of the write of a pod, where the answer is certain: nothing was written. After no
 * answer, or success, the memory stays as the decision made it.
 */
export function afterRefusal(
  seen: Seen,
  why: "conflict" | "gone" | "busy" | "admission" | "deletion" | "unsent",
  { steady }: Now,
  words = noWords,
): Seen {
  const since = (before: Refused | undefined): Refused => {
    return { at: before?.at ?? steady, last: steady, why: words };
  };
  const refused = why === "admission" ? since(seen.refused) : seen.refused;
  const kept = why === "deletion" ? since(seen.kept) : seen.kept;
  // A sync that was not written is raised again.
  const syncs =
    why === "admission" || why === "deletion" ? seen.syncs : Math.max(0, seen.syncs - 1);
  const holds = seen.sent?.held ?? seen.holds;
  return { ...seen, sent: undefined, refused, kept, holds, syncs };
}

/** Writes of one version of a pod without an effect after which they count as refused. */
const mostErrors = 4;

/**
 * What became of the write of a pod, where the answer is a conflict or an error that is not
 * explained. Repeated while the pod is seen unchanged it counts as a refusal: nothing else would
 * end it, and its node's place would never be free.
 */
export function afterError(
  seen: Seen,
  { resourceVersion }: Pick<PodFacts, "resourceVersion">,
  now: Now,
  as: "admission" | "deletion",
  words: string,
): Seen {
  const isSame = seen.errors?.resourceVersion === resourceVersion;
  const count = (isSame ? (seen.errors?.count ?? 0) : 0) + 1;
  const counted = { ...seen, errors: { resourceVersion, count } };
  return count < mostErrors ? counted : afterRefusal(counted, as, now, words);
}

/**
 * Snapshots for the tests of the decision. Content 100 was just published, and nothing is served.
 */
import type { Order, Report, Result } from "#contract/order.ts";
import {
  stateOf,
  type NodeFacts,
  type ObjectFacts,
  type PodFacts,
  type Snapshot,
} from "./facts.ts";

/** The time of the tests. The content was published ten seconds before. */
export const now = 100_010;
export const publishedAt = 100_000;
/** With a probation of 5 s. */
export const usual = 365;

export const pod: PodFacts = {
  uid: "pod",
  created: 1000,
  isDeleting: false,
  isCurrent: true,
  mode: "Restart",
  isRunning: true,
  readySince: 1010,
  isUnreachable: false,
  waitingReason: undefined,
};

export const newest: Readonly<{ revision: number; digest: string }> = {
  revision: 100,
  digest: "d",
};

/** The order that asked for the newest content at `attempt`. */
export const orderAt = (attempt: number, content = newest): Order => ({ ...content, attempt });

/** A report of the newest content, as an answer to the order at `attempt`. */
export const reportOf = (result: Result, attempt: number, content = newest): Report => ({
  ...content,
  attempt,
  result,
  code: "GPS100",
  message: "",
  mode: "Restart",
  version: "1",
  since: attempt,
  time: attempt,
});

export const objectOf = (order?: Order, report?: Report): ObjectFacts => ({
  uid: "object",
  resourceVersion: "1",
  isDeleting: false,
  order,
  report,
});

/** A node that was asked at `attempt`, and that has answered with `result` if it is set. */
export const askedNode = (name: string, attempt: number, result?: Result): NodeFacts =>
  nodeOf(name, {
    object: objectOf(orderAt(attempt), result && reportOf(result, attempt)),
  });

/** A node that runs an agent, and was not asked for anything. */
export const nodeOf = (name: string, changes: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  uid: `uid-${name}`,
  created: 1,
  isControlPlane: false,
  pod,
  object: objectOf(),
  isRefused: false,
  ...changes,
});

export const nodesOf = (count: number, changes: Partial<NodeFacts> = {}): NodeFacts[] =>
  Array.from({ length: count }, (_, index) => nodeOf(`n${index}`, changes));

/** Nodes `p0`, `p1` … that have the newest content. */
export const provedNodes = (count: number): NodeFacts[] =>
  Array.from({ length: count }, (_, index) => askedNode(`p${index}`, publishedAt + 1, "Proved"));

export const secret = {
  ...newest,
  mode: "Restart",
  intent: "apply",
  served: 0,
  publishedAt,
} as const;

export const state = stateOf(100, publishedAt, { retry: "", bucketUntil: 0, served: false });

export const snapshotOf = (changes: Partial<Snapshot> = {}): Snapshot => ({
  now,
  secret,
  state,
  template: { isCurrent: true, mode: "Restart", maxUnavailable: 1 },
  nodes: nodesOf(3),
  orphans: [],
  target: { intent: "apply", digest: "d", isKnown: true, mode: "Restart", removes: false },
  policy: { maxUnavailable: 2, maxFailures: 0, forgetAfter: 3600, minInterval: 0, probation: 5 },
  isPaused: false,
  isGuarded: true,
  retry: "",
  ...changes,
});

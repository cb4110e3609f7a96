/** Laws of the decision for random snapshots: it never throws, and its actions lead to rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { results, type Order, type Report } from "#contract/order.ts";
import { decide } from "./decide.ts";
import type { Action, NodeFacts, ObjectFacts, PodFacts, SecretFacts, Snapshot } from "./facts.ts";
import { now, objectOf, pod, reportOf } from "./snapshot.fixture.ts";

const modes = ["Restart", "Reread", "CredentialProvider", "CredentialProviderAnnotated"] as const;
const mode = fc.constantFrom(...modes);
const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(values, { nil: undefined });
const intent = fc.constantFrom("apply", "release");
const flag = fc.boolean();

/** Every part of a snapshot, with times from `time`. */
function snapshots(time: fc.Arbitrary<number>): fc.Arbitrary<Snapshot> {
  const content = {
    revision: fc.constantFrom(99, 100, 2 ** 40 - 1),
    digest: fc.constantFrom("d", "e"),
    attempt: fc.oneof(fc.constant(0), time),
  };
  const order: fc.Arbitrary<Order> = fc.record(content);
  const report: fc.Arbitrary<Report> = fc
    .record({ ...content, result: fc.constantFrom(...results), since: time, time })
    .map((fields) => Object.assign({}, reportOf("Proved", 0), fields));
  const object: fc.Arbitrary<ObjectFacts> = fc
    .tuple(optional(order), optional(report), flag)
    .map(([asked, reported, isAnswer]) =>
      objectOf(asked, reported && asked && isAnswer ? { ...reported, ...asked } : reported),
    );
  const agentPod: fc.Arbitrary<PodFacts> = fc
    .record({
      created: time,
      isDeleting: flag,
      isCurrent: flag,
      mode: optional(mode),
      isRunning: flag,
      readySince: optional(time),
      isUnreachable: flag,
    })
    .map((fields) => Object.assign({}, pod, fields));
  const node = fc.record({
    created: time,
    isControlPlane: flag,
    pod: optional(agentPod),
    object: optional(object),
    isRefused: flag,
  });
  const nodes = fc
    .array(node, { maxLength: 12 })
    .map((entries): NodeFacts[] =>
      entries.map((fields, index) =>
        Object.assign({ name: `n${index}`, uid: `u${index}` }, fields),
      ),
    );
  const secret: fc.Arbitrary<SecretFacts> = fc.record({
    revision: fc.constantFrom(99, 100),
    digest: fc.constantFrom("d", "e"),
    mode,
    intent,
    served: fc.constantFrom(0, 98, 99, 100),
    publishedAt: time,
  });
  const uids = fc.subarray(["u0", "u1", "u2", "gone"]);
  const state = fc.record({
    revision: fc.constantFrom(0, 99, 100),
    since: time,
    proved: flag,
    asked: uids,
    failed: uids,
    lost: uids,
    served: flag,
    retry: fc.constantFrom("", "r"),
    bucketUntil: time,
  });
  return fc.record({
    now: time,
    secret: optional(secret),
    state,
    template: optional(
      fc.record({ isCurrent: flag, mode: optional(mode), maxUnavailable: fc.nat(5) }),
    ),
    nodes,
    orphans: fc.array(
      fc.record({ name: fc.constantFrom("o", "n1"), uid: fc.constantFrom("gone", "u1"), object }),
    ),
    target: fc.record({
      intent,
      digest: fc.constantFrom("d", "e"),
      isKnown: flag,
      mode,
      removes: flag,
    }),
    policy: fc.record({
      maxUnavailable: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant("all" as const)),
      maxFailures: fc.nat(3),
      forgetAfter: fc.nat(500),
      minInterval: fc.nat(500),
      probation: fc.nat(60),
    }),
    isPaused: flag,
    isGuarded: flag,
    retry: fc.constantFrom("", "r"),
  });
}

/** The snapshot after the action. No agent answers, and no time passes. */
function applied(snapshot: Snapshot, action: Action): Snapshot {
  const { secret, target, nodes } = snapshot;
  const change = (node: NodeFacts, object: ObjectFacts): Snapshot => ({
    ...snapshot,
    nodes: nodes.map((other) =>
      other.uid === node.uid ? Object.assign({}, other, { object }) : other,
    ),
  });
  switch (action.kind) {
    case "publish": {
      const { revision, mode } = action;
      const slot = action.served === "newest" ? secret?.revision : secret?.served;
      const served = action.served === "nothing" ? 0 : (slot ?? 0);
      const { digest, intent } = target;
      const publishedAt = snapshot.now;
      return { ...snapshot, secret: { revision, digest, mode, intent, served, publishedAt } };
    }
    case "save":
      return { ...snapshot, state: action.state };
    case "promote":
      return { ...snapshot, secret: secret && { ...secret, served: secret.revision } };
    case "write-template": {
      const { maxUnavailable } = action;
      return { ...snapshot, template: { isCurrent: true, mode: target.mode, maxUnavailable } };
    }
    case "delete": {
      const orphans = snapshot.orphans.filter(({ name }) => name !== action.node.name);
      return { ...snapshot, orphans };
    }
    case "create":
      return change(action.node, objectOf());
    case "ask":
      return change(action.node, { ...objectOf(), ...action.node.object, order: action.order });
    case "complete":
      return { ...snapshot, secret: undefined, template: undefined };
  }
}

const plausible = snapshots(fc.integer({ min: now - 1000, max: now + 1000 }));
const wild = snapshots(fc.oneof(fc.double(), fc.constantFrom(0, -1, 2 ** 40 - 1, 2 ** 53)));

test("never throws, and lists every node once, whatever the snapshot is", () => {
  fc.assert(
    fc.property(wild, (snapshot) => {
      const { view, again } = decide(snapshot);
      const names = view.waiting.map(({ node }) => node);
      assert.equal(new Set(names).size, names.length);
      assert.ok(view.phase === "idle" || view.current + names.length === snapshot.nodes.length);
      assert.ok(again >= 1);
    }),
  );
});

test("comes to rest within six rounds if every action succeeds", () => {
  fc.assert(
    fc.property(plausible, (first) => {
      let snapshot = first;
      for (let round = 0; round < 6; round += 1) {
        const { actions } = decide(snapshot);
        if (actions.length === 0 || actions.at(-1)?.kind === "complete") return;
        snapshot = actions.reduce(applied, snapshot);
      }
      assert.deepEqual(decide(snapshot).actions, []);
    }),
    { numRuns: 1000 },
  );
});

test("saves the state first, with everything that orders and a promotion depend on", () => {
  fc.assert(
    fc.property(plausible, (snapshot) => {
      const { actions } = decide(snapshot);
      const kinds = actions.map(({ kind }) => kind);
      assert.ok(kinds.lastIndexOf("save") <= 0);
      const state = actions.reduce(applied, snapshot).state;
      const needsRecord = snapshot.secret?.intent === "apply" && !state.proved;
      if (kinds.includes("promote")) assert.ok(state.served);
      for (const action of actions)
        if (action.kind === "ask" && needsRecord)
          assert.ok(state.asked.includes(action.node.uid), action.node.uid);
    }),
  );
});

test("asks only nodes that can answer, and never the same node twice", () => {
  fc.assert(
    fc.property(plausible, (snapshot) => {
      const asks = decide(snapshot).actions.filter((action) => action.kind === "ask");
      // At the end of a withdrawal, an order marks a node that cannot answer.
      fc.pre(snapshot.secret?.intent !== "release");
      assert.equal(new Set(asks.map(({ node }) => node.uid)).size, asks.length);
      for (const { node, order } of asks) {
        assert.ok(node.pod?.isRunning === true && !node.pod.isDeleting && !node.pod.isUnreachable);
        assert.ok(order.attempt > (node.object?.order?.attempt ?? 0) && order.attempt > 0);
        assert.deepEqual(
          [order.revision, order.digest],
          [snapshot.secret?.revision, snapshot.secret?.digest],
        );
      }
    }),
  );
});

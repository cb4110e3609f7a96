/** The model of nodes: the behaviour that tests depend on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  digestAnnotation,
  revisionAnnotation,
  secretKeys,
  servedKeys,
  sinceAnnotation,
  syncAnnotation,
  wordAnnotation,
  type Intent,
} from "#contract/names.ts";
import { parseMessage } from "#contract/termination-message.ts";
import { digestOf } from "#pullsecret/merge/digest.ts";
import { agent, isAtWork } from "./agent.ts";
import { syncDaemonSet } from "./daemonset-controller.ts";
import { type Answer, type Behaviour, NodesModel, readySince, type Texts } from "./nodes.ts";
import { podStatus } from "./objects.ts";

/** The Secret's keys for a content, either in the slot for new nodes or in the slot for grants. */
const content = (
  revision: number,
  document: string,
  intent: Intent = "apply",
  keys: typeof secretKeys | typeof servedKeys = secretKeys,
): Texts => ({
  [keys.revision]: String(revision),
  [keys.document]: document,
  [keys.salt]: "s",
  [keys.sources]: "{}",
  [keys.intent]: intent,
});
const digest = (document: string, intent: Intent = "apply") =>
  digestOf({
    salt: Buffer.from("s"),
    intent,
    sources: Buffer.from("{}"),
    document: Buffer.from(document),
  });
const grantOf = (revision: number, document: string, since: string, more: Texts = {}): Texts => ({
  [revisionAnnotation]: String(revision),
  [digestAnnotation]: digest(document),
  [sinceAnnotation]: since,
  ...more,
});
const emptyDocument = '{"auths":{}}';
const toAnswer = { [wordAnnotation]: "true" };

/**
 * A node with an agent. The agent has a Secret with one document, and if `granted` also a grant of
 * this document.
 */
function played(behaviour: Behaviour = "ready", { granted = true, served = 0, by = agent } = {}) {
  const model = new NodesModel(by);
  model.behaviour = () => behaviour;
  model.secret = { ...content(1, "one"), [servedKeys.revision]: String(served) };
  const node = model.join();
  const annotations = granted ? grantOf(1, "one", "none") : {};
  const pod = model.place(node, { hash: "a", annotations });
  const step = (seconds = 1, times = 1) => {
    for (let round = 0; round < times; round += 1) {
      model.tick(seconds);
      model.kubelet(node);
    }
  };
  /** Gives the running pod a grant, as the controller does. */
  const grant = (revision: number, document: string, more: Texts = {}) => {
    const since = new Date(pod.state.containersReady.since * 1000).toISOString();
    pod.annotations = grantOf(revision, document, since, more);
    return since;
  };
  const word = () => parseMessage(pod.state.container.last?.message);
  return { model, node, pod, step, grant, word };
}

test("restarts the kubelet once for a grant, and is Ready afterwards", () => {
  const { node, pod, step } = played();
  step();
  assert.deepEqual([node.kubelet, pod.state.ready.is], ["restarting", false]);
  step(1, 2);
  assert.deepEqual([node.applied, readySince(pod)], ["one", 3]);
  step(100);
  assert.deepEqual([node.restarts, readySince(pod)], [["one"], 3]);
});

test("never turns Ready and touches nothing when the agent hangs or is not started", () => {
  for (const [behaviour, startedAt, waits] of [
    ["hangs", 1, undefined],
    ["never starts", undefined, "ImagePullBackOff"],
  ] as const) {
    const { node, pod, step } = played(behaviour);
    step(1, 3);
    const { container, ready } = pod.state;
    assert.deepEqual([node.restarts, ready.is, container.startedAt], [[], false, startedAt]);
    const { containerStatuses } = podStatus(pod) as {
      containerStatuses: { state: { waiting?: { reason: string } } }[];
    };
    assert.equal(containerStatuses[0]?.state.waiting?.reason, waits);
  }
});

test("starts a container later if the kubelet could not start it at first", () => {
  const { model, node, step } = played("never starts");
  step(1, 3);
  model.behaviour = () => "ready";
  step(1, 3);
  assert.equal(node.applied, "one");
});

test("ends once, with a termination message, when the agent refuses or gives up", () => {
  for (const [behaviour, code, message] of [
    ["refuses", 3, /GPS206/],
    ["GPS203 it did not come back", 1, /^GPS203 it did not come back /],
  ] as const) {
    const { node, pod, step } = played(behaviour);
    step(1, 3);
    const { last, restarts } = pod.state.container;
    assert.deepEqual([last?.exitCode, restarts, node.restarts], [code, 1, []]);
    assert.match(last?.message ?? "", message);
    assert.ok(isAtWork(node, pod, undefined), "nobody knows yet that the grant is dead");
    assert.ok(!isAtWork(node, pod, pod.state), "the grant is dead before it is revoked");
  }
});

test("confirms a withdrawal by termination message, unless the agent writes none", () => {
  for (const behaviour of ["ready", "wordless"]) {
    const { model, node, pod, step, grant, word } = played(behaviour);
    step(1, 3);
    model.secret = content(2, emptyDocument, "release");
    grant(2, emptyDocument, { [digestAnnotation]: digest(emptyDocument, "release") });
    step(1, 4);
    assert.deepEqual([node.applied, pod.state.ready.is], [undefined, true]);
    assert.equal(word()?.kind, behaviour === "ready" ? "released" : undefined);
    pod.ending = true;
    step();
    assert.equal(node.journal, undefined, "nothing of ours is left");
  }
});

test("mounts the newest Secret at once after a patch of the pod, and without a patch at the next sync", () => {
  const { model, pod, step } = played();
  step();
  model.secret = content(2, "two");
  step(60);
  assert.equal(pod.mounted?.secret["revision"], "1");
  pod.annotations = grantOf(2, "two", "none");
  step();
  assert.equal(pod.mounted?.secret["revision"], "2");
  model.secret = content(3, "three");
  step(80);
  assert.equal(pod.mounted?.secret["revision"], "3");
});

test("starts an ended container after 0, 10, 20, 40 s …, and after ten minutes without an end after 0 s again", () => {
  let answer: Answer = { exitCode: 1, message: "" };
  const { model, node, pod, step } = played("ready", { by: () => answer });
  const pauses: number[] = [];
  for (let exits = 0; exits < 8; exits += 1) {
    step(0);
    const { startsAt } = pod.state.container;
    pauses.push(startsAt - model.now);
    model.tick(startsAt - model.now);
  }
  assert.deepEqual(pauses, [0, 10, 20, 40, 80, 160, 300, 300]);
  answer = "ready";
  step();
  step(700);
  answer = { exitCode: 1, message: "" };
  step();
  assert.equal(pod.state.container.startsAt, model.now);
  assert.equal(node.pods.length, 1);
});

test("while a node is silent, sets only Ready of its pods to false, not ContainersReady, and later restores Ready with its old time", () => {
  const { model, node, pod, step } = played();
  step(1, 3);
  step(50);
  model.die(node);
  const { ready, containersReady } = pod.state;
  assert.deepEqual(
    [ready, containersReady],
    [
      { is: false, since: 53 },
      { is: true, since: 3 },
    ],
  );
  step();
  model.revive(node);
  assert.deepEqual(pod.state.ready, { is: true, since: 3 });
  model.die(node);
  model.revive(node, "rebooted");
  step();
  assert.deepEqual(pod.state.containersReady, { is: true, since: 55 });
});

test("keeps no state of a node that is replaced under the same name", () => {
  const { model, node, step } = played();
  step();
  step();
  model.leave(node.name);
  const next = model.join(node.name);
  assert.deepEqual([next.applied, next.pods, model.nodes], [undefined, [], [next]]);
});

test("reports times to the second, and a termination message with its exit code", () => {
  const { pod, step } = played("refuses");
  step(1.7);
  step(1.7);
  const status = podStatus(pod) as {
    conditions: { type: string; lastTransitionTime: string }[];
    containerStatuses: { lastState: { terminated: { exitCode: number; finishedAt: string } } }[];
  };
  assert.equal(status.conditions[3]?.lastTransitionTime, "1970-01-01T00:00:00.000Z");
  const { terminated } = status.containerStatuses[0]?.lastState ?? {};
  assert.deepEqual([terminated?.exitCode, terminated?.finishedAt], [3, "1970-01-01T00:00:01.000Z"]);
});

test("creates missing pods, and counts but never replaces existing pods", () => {
  const model = new NodesModel(() => "ready");
  for (let index = 0; index < 3; index += 1)
    model.place(model.join(), { hash: "old", annotations: {} });
  const joined = model.join();
  for (const node of [...model.nodes.slice(1), ...model.nodes.slice(1)]) model.kubelet(node);
  model.tick(10);
  const rules = { hash: "new", minReadySeconds: 3, ready: readySince };
  assert.deepEqual(syncDaemonSet(rules, model.nodes, model.now), {
    create: [joined],
    counts: { desired: 4, updated: 1, ready: 2, available: 2 },
  });
});

test("without a grant, takes the served content once, or nothing if nothing is served", () => {
  for (const served of [0, 1]) {
    const { model, node, step } = played("ready", { granted: false, served });
    step(1, 3);
    assert.deepEqual(node.restarts, served === 1 ? ["one"] : []);
    model.secret = { ...content(2, "two"), [servedKeys.revision]: "2" };
    step(100);
    assert.equal(node.restarts.length, served, "it keeps what it has");
  }
});

test("takes the served content, not the newest, when its node joins during a rollout", () => {
  const { model, node, pod, step } = played("ready", { granted: false });
  model.secret = { ...content(2, "two"), ...content(1, "one", "apply", servedKeys) };
  step(1, 3);
  assert.deepEqual([node.applied, node.journal?.revision, pod.state.ready.is], ["one", 1, true]);
});

test("applies a grant without a new container, and turns Ready again in a later second", () => {
  const { node, pod, step, grant } = played("ready", { granted: false });
  step(1, 3);
  assert.equal(pod.state.ready.is, true);
  grant(1, "one");
  step(1, 4);
  assert.deepEqual([node.restarts, pod.state.container.restarts], [["one"], 0]);
  assert.equal(pod.state.ready.is, true);
  const before = pod.state.ready.since;
  grant(0, "");
  step(1, 4);
  assert.deepEqual([node.applied, pod.state.ready.is], ["one", true]);
  assert.ok(pod.state.ready.since > before);
});

test("mounts the newest Secret at once when the annotation `sync` gets another value", () => {
  const { model, pod, step } = played("ready", { granted: false });
  step();
  model.secret = content(2, "two");
  step();
  assert.equal(pod.mounted?.secret["revision"], "1");
  pod.annotations = { ...pod.annotations, [syncAnnotation]: "1" };
  step();
  assert.equal(pod.mounted.secret["revision"], "2");
});

test("proves a grant by termination message once, and refuses a grant of a lower revision than the journal's", () => {
  const { model, node, pod, step, grant, word } = played("ready", { granted: false });
  step(1, 2);
  const since = grant(1, "one", toAnswer);
  step(1, 6);
  assert.deepEqual(word(), {
    kind: "proved",
    grant: { revision: 1, digest: digest("one"), since },
    journal: 1,
  });
  assert.deepEqual([pod.state.container.restarts, pod.state.ready.is], [1, true]);
  node.journal = { revision: 9, digest: "" };
  model.secret = content(2, "two");
  grant(2, "two");
  step(1, 20);
  assert.deepEqual([word()?.kind, word()?.journal, pod.state.ready.is], ["behind", 9, false]);
});

test("rolls back if a kubelet does not start again, and ignores the grant until its `since` changes", () => {
  const { model, node, pod, step, grant, word } = played("breaks", { granted: false });
  step(1, 2);
  grant(1, "one");
  step(1, 4);
  assert.deepEqual([node.kubelet, node.applied, node.restarts], ["up", undefined, ["one"]]);
  assert.deepEqual([word()?.kind, pod.state.container.last?.exitCode], ["failed", 1]);
  step(5000, 2);
  assert.deepEqual(node.restarts, ["one"]);
  model.behaviour = () => "ready";
  pod.state = { ...pod.state, containersReady: { is: false, since: model.now } };
  grant(1, "one");
  step(1, 4);
  assert.deepEqual([node.restarts.length, node.applied], [2, "one"]);
});

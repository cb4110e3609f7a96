/** The model of nodes: what tests rely on when they judge programs by it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  digestAnnotation,
  revisionAnnotation,
  servedKeys,
  sinceAnnotation,
  syncAnnotation,
  wordAnnotation,
} from "#contract/names.ts";
import { parseWord } from "#contract/word.ts";
import { agentOf } from "./agent.ts";
import { syncDaemonSet, unavailableOf } from "./daemonset-controller.ts";
import { type Answer, type Behaviour, NodesModel, readySince } from "./nodes.ts";
import { podStatus } from "./objects.ts";

const content = (revision: number, document: string, intent = "apply") => ({
  revision: String(revision),
  ".dockerconfigjson": document,
  intent,
});
const annotations = (revision: number) => ({ [revisionAnnotation]: String(revision) });

/** A node with an agent at this revision, whose Secret has one document. */
function played(behaviour: Behaviour = "ready", revision = 1, agent = agentOf()) {
  const model = new NodesModel(agent);
  model.behaviour = () => behaviour;
  model.secret = content(1, "one");
  const node = model.join();
  const pod = model.place(node, { hash: "a", annotations: annotations(revision) });
  const step = (seconds = 1) => {
    model.tick(seconds);
    model.kubelet(node);
  };
  return { model, node, pod, step };
}

test("an agent restarts its kubelet once for a revision, and is Ready afterwards", () => {
  const { node, pod, step } = played();
  step();
  assert.deepEqual([node.kubelet, pod.state.ready.is], ["restarting", false]);
  step();
  assert.deepEqual([node.applied, readySince(pod)], ["one", 2]);
  step(100);
  assert.deepEqual([node.restarts, readySince(pod)], [["one"], 2]);
});

test("an agent at revision 0 touches nothing, and one that hangs is never Ready", () => {
  for (const [behaviour, revision, ready] of [
    ["ready", 0, true],
    ["hangs", 1, false],
  ] as const) {
    const { node, pod, step } = played(behaviour, revision);
    step();
    step();
    assert.deepEqual([node.restarts, pod.state.ready.is], [[], ready]);
  }
});

test("an agent that refuses or gives up ends once, with its termination message", () => {
  for (const [behaviour, code, message] of [
    ["refuses", 3, /GPS206/],
    ["GPS203 it did not come back", 1, /^GPS203 it did not come back$/],
  ] as const) {
    const { node, pod, step } = played(behaviour);
    for (let one = 0; one < 3; one += 1) step();
    const { last, restarts } = pod.state.container;
    assert.deepEqual([last?.exitCode, restarts, node.restarts], [code, 1, []]);
    assert.match(last?.message ?? "", message);
  }
});

test("a kubelet that does not come back is rolled back, and the revision tried again after ten minutes", () => {
  const { node, pod, step } = played("breaks");
  for (let one = 0; one < 3; one += 1) step();
  assert.deepEqual([node.kubelet, node.applied, node.restarts], ["up", undefined, ["one"]]);
  assert.equal(pod.state.container.last?.exitCode, 1);
  step(500);
  assert.equal(node.restarts.length, 1);
  step(100);
  assert.equal(node.restarts.length, 2);
});

test("a withdrawal is confirmed by word, unless the agent is wordless", () => {
  for (const behaviour of ["ready", "wordless"]) {
    const { model, node, pod, step } = played(behaviour);
    node.applied = "one";
    model.secret = content(1, '{"auths":{}}', "release");
    for (let one = 0; one < 4; one += 1) step();
    assert.deepEqual([node.applied, pod.state.ready.is], [undefined, true]);
    const { message = "" } = pod.state.container.last ?? {};
    assert.equal(parseWord(message)?.kind === "released", behaviour === "ready");
  }
});

test("a node that holds something keeps it under a hold, and an empty one takes the document", () => {
  for (const [applied, then] of [
    ["old", "old"],
    [undefined, "one"],
  ] as const) {
    const { model, node, pod, step } = played();
    node.applied = applied;
    model.secret = content(1, "one", "hold");
    step();
    step();
    assert.deepEqual([node.applied, pod.state.ready.is], [then, true]);
  }
});

test("a patch of the pod brings the newest Secret at once, and nothing else before the next sync", () => {
  const { model, pod, step } = played();
  step();
  model.secret = content(2, "two");
  step(60);
  assert.equal(pod.mounted?.secret["revision"], "1");
  pod.annotations = { ...annotations(2) };
  step();
  assert.equal(pod.mounted?.secret["revision"], "2");
  model.secret = content(3, "three");
  step(80);
  assert.equal(pod.mounted?.secret["revision"], "3");
});

test("a container that ends is started at once, then after 10, 20, 40 s, and at once again after ten minutes", () => {
  let answer: Answer = { exitCode: 1, message: "" };
  const { model, node, pod, step } = played("ready", 1, () => answer);
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

test("the node controller takes Ready from the pods of a silent node, not ContainersReady; the kubelet restores it with the old time", () => {
  const { model, node, pod, step } = played();
  step();
  step();
  step(50);
  model.die(node);
  const { ready, containersReady } = pod.state;
  assert.deepEqual(
    [ready, containersReady],
    [
      { is: false, since: 52 },
      { is: true, since: 2 },
    ],
  );
  step();
  model.revive(node);
  assert.deepEqual(pod.state.ready, { is: true, since: 2 });
  model.die(node);
  model.revive(node, "rebooted");
  step();
  assert.deepEqual(pod.state.containersReady, { is: true, since: 54 });
});

test("a node that is replaced under its name has nothing of the first", () => {
  const { model, node, step } = played();
  step();
  step();
  model.leave(node.name);
  const next = model.join(node.name);
  assert.deepEqual([next.applied, next.pods, model.nodes], [undefined, [], [next]]);
});

test("a starting kubelet may call its containers Ready without a probe, for a second", () => {
  const { model, pod, step } = played();
  model.unprobed = true;
  step();
  assert.equal(pod.state.ready.is, true);
  model.tick();
  assert.equal(pod.state.ready.is, false);
});

test("times are reported to the second, and a termination message with its exit code", () => {
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

/** Nodes with an available pod of an older template, but for the first. */
function rolled(
  size: number,
  strategy: "RollingUpdate" | "OnDelete",
  maxUnavailable: number | string,
) {
  const model = new NodesModel(() => "ready");
  for (let one = 0; one < size; one += 1)
    model.place(model.join(), { hash: "old", annotations: {} });
  for (const node of [...model.nodes.slice(1), ...model.nodes.slice(1)]) model.kubelet(node);
  model.tick(10);
  const rules = { hash: "new", strategy, maxUnavailable, minReadySeconds: 3, ready: readySince };
  return syncDaemonSet(rules, model.nodes, model.now);
}

test("the DaemonSet controller replaces unavailable pods first, and others within maxUnavailable", () => {
  const names = ({ remove }: ReturnType<typeof rolled>) => remove.map(({ node }) => node.name);
  assert.deepEqual(names(rolled(4, "RollingUpdate", 1)), ["n0"]);
  assert.deepEqual(names(rolled(4, "RollingUpdate", "75%")), ["n0", "n1", "n2"]);
  const { remove, counts } = rolled(4, "OnDelete", 1);
  assert.deepEqual(remove, []);
  assert.deepEqual(counts, { desired: 4, updated: 0, ready: 3, available: 3 });
  assert.deepEqual([unavailableOf("1%", 4), unavailableOf(0, 4), unavailableOf(0, 0)], [1, 1, 0]);
});

const since = (second: number) => new Date(second * 1000).toISOString();
const granted = (revision: number, second: number, word = false) => ({
  [revisionAnnotation]: String(revision),
  [digestAnnotation]: "",
  [sinceAnnotation]: since(second),
  ...(word && { [wordAnnotation]: "true" }),
});

/** A pod that its template grants nothing, whose Secret has revision 1. */
function unasked(served = 0) {
  const world = played();
  world.pod.annotations = {};
  world.model.secret = { ...content(1, "one"), [servedKeys.revision]: String(served) };
  const grant = (revision: number, word = false) => {
    world.pod.annotations = granted(revision, world.model.now, word);
    return world.pod.annotations[sinceAnnotation];
  };
  return { ...world, grant };
}

test("a pod without a grant takes what is served, once, or nothing", () => {
  for (const served of [0, 1]) {
    const { model, node, step } = unasked(served);
    for (let one = 0; one < 3; one += 1) step();
    assert.deepEqual(node.restarts, served === 1 ? ["one"] : []);
    model.secret = { ...content(2, "two"), [servedKeys.revision]: "2" };
    step(100);
    assert.equal(node.restarts.length, served, "it keeps what it has");
  }
});

test("a grant in place is taken by the same container, which is unready for it in another second", () => {
  const { node, pod, step, grant } = unasked();
  for (let one = 0; one < 3; one += 1) step();
  assert.equal(pod.state.ready.is, true);
  grant(1);
  for (let one = 0; one < 4; one += 1) step();
  assert.deepEqual([node.restarts, pod.state.container.restarts], [["one"], 0]);
  assert.equal(pod.state.ready.is, true);
  const before = pod.state.ready.since;
  grant(0);
  for (let one = 0; one < 4; one += 1) step();
  assert.deepEqual([node.applied, pod.state.ready.is], ["one", true]);
  assert.ok(pod.state.ready.since > before);
});

test("another value of the annotation sync brings the newest Secret at once", () => {
  const { model, pod, step } = unasked();
  step();
  model.secret = content(2, "two");
  step();
  assert.equal(pod.mounted?.secret["revision"], "1");
  pod.annotations = { ...pod.annotations, [syncAnnotation]: "1" };
  step();
  assert.equal(pod.mounted.secret["revision"], "2");
});

test("a container proves its grant by word once, and refuses one below its journal", () => {
  const { model, node, pod, step, grant } = unasked();
  step();
  const word = () => parseWord(pod.state.container.last?.message);
  const asked = grant(1, true);
  for (let one = 0; one < 6; one += 1) step();
  assert.deepEqual(word(), {
    kind: "proved",
    grant: { revision: 1, digest: "", since: asked },
    journal: 1,
  });
  assert.deepEqual([pod.state.container.restarts, pod.state.ready.is], [1, true]);
  node.journal = { revision: 9, digest: "" };
  model.secret = content(2, "two");
  grant(2);
  for (let one = 0; one < 20; one += 1) step();
  assert.deepEqual([word()?.kind, word()?.journal, pod.state.ready.is], ["behind", 9, false]);
});

test("a grant that failed is dead until a new since", () => {
  const { model, node, pod, step, grant } = unasked();
  model.behaviour = () => "breaks";
  step();
  grant(1);
  for (let one = 0; one < 4; one += 1) step();
  assert.equal(parseWord(pod.state.container.last?.message)?.kind, "failed");
  step(5000);
  step();
  assert.deepEqual(node.restarts, ["one"]);
  model.behaviour = () => "ready";
  grant(1);
  for (let one = 0; one < 4; one += 1) step();
  assert.deepEqual([node.restarts.length, node.applied], [2, "one"]);
});

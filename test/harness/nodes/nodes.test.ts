/** The model of nodes: the behaviour that tests depend on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Intent, secretKeys, servedKeys } from "#contract/names.ts";
import { digestOf } from "#pullsecret/merge/digest.ts";
import { agent, isAtWork } from "./agent.ts";
import { type DaemonRules, syncDaemonSet } from "./daemonset-controller.ts";
import { type Behaviour, NodesModel, readySince, type Texts } from "./nodes.ts";
import { podStatus } from "./objects.ts";

/** The Secret's keys for a content, in the slot of the newest or of the served content. */
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
const documentOf = (...registries: string[]) =>
  JSON.stringify({ auths: Object.fromEntries(registries.map((registry) => [registry, {}])) });
const [one, two, nothing] = [documentOf("a"), documentOf("a", "b"), documentOf()];

/**
 * A node with an agent, and a Secret with the document `one`. `ordered`: the node shall take it.
 */
function played(behaviour: Behaviour = "ready", { ordered = true, served = 0 } = {}) {
  const model = new NodesModel(agent);
  model.behaviour = () => behaviour;
  model.secret = { ...content(1, one), [servedKeys.revision]: String(served) };
  const node = model.join();
  const pod = model.place(node, { hash: "a" });
  const begun: number[] = [];
  model.began = (_, revision) => void begun.push(revision);
  const step = (seconds = 1, times = 1) => {
    for (let round = 0; round < times; round += 1) {
      model.tick(seconds);
      model.kubelet(node);
    }
  };
  const ask = (revision: number, document: string, attempt: number) =>
    (node.order = { revision, digest: digest(document), attempt });
  if (ordered) ask(1, one, 10);
  const answer = () => [node.report?.result, node.report?.revision, node.report?.attempt];
  return { model, node, pod, begun, step, ask, answer };
}

test("restarts the kubelet once for an order, and reports once", () => {
  const { node, pod, begun, step, answer } = played();
  step();
  assert.deepEqual([node.kubelet, node.report, isAtWork(node)], ["restarting", undefined, true]);
  step();
  assert.deepEqual([node.applied, answer()], [one, ["Proved", 1, 10]]);
  const { report } = node;
  step(100, 3);
  assert.deepEqual([node.restarts, begun, isAtWork(node)], [[one], [1], false]);
  assert.equal(node.report, report);
  assert.equal(readySince(pod), 1, "a restart of the kubelet does not change the pod");
});

test("answers an order again only if its attempt changes, and keeps `since` of the same result", () => {
  const { node, step, ask, answer } = played();
  step(1, 2);
  ask(1, one, 20);
  step();
  assert.deepEqual([node.restarts.length, answer()], [1, ["Proved", 1, 20]]);
  assert.deepEqual([node.report?.since, node.report?.time], [2, 3]);
});

test("touches nothing when the agent hangs or is not started", () => {
  for (const [behaviour, startedAt, waits] of [
    ["hangs", 1, undefined],
    ["never starts", undefined, "ImagePullBackOff"],
  ] as const) {
    const { node, pod, step } = played(behaviour);
    step(1, 3);
    assert.deepEqual([node.restarts, node.report], [[], undefined]);
    assert.equal(pod.state.container.startedAt, startedAt);
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
  assert.equal(node.applied, one);
});

test("ends a crashing container after 10 s, and starts it again after 10, 20, 40 s … 300 s", () => {
  const { model, pod, step } = played("crashes");
  step();
  const pauses: number[] = [];
  for (let ends = 0; ends < 7; ends += 1) {
    assert.notEqual(readySince(pod), undefined);
    step(10);
    assert.equal(readySince(pod), undefined);
    const { startsAt } = pod.state.container;
    pauses.push(startsAt - model.now);
    step(startsAt - model.now);
  }
  assert.deepEqual(pauses, [10, 20, 40, 80, 160, 300, 300]);
});

test("reports a refusal or a failure without touching the node", () => {
  for (const [behaviour, result, code, message] of [
    ["refuses", "Refused", "GPS206", /symbolic link/],
    ["GPS218 it did not come back", "Failed", "GPS218", /^it did not come back$/],
  ] as const) {
    const { node, step } = played(behaviour);
    step(1, 3);
    assert.deepEqual([node.report?.result, node.report?.code], [result, code]);
    assert.match(node.report?.message ?? "", message);
    assert.deepEqual([node.restarts, node.applied, isAtWork(node)], [[], undefined, false]);
  }
});

test("restores the former content if a kubelet does not start again, until it is asked again", () => {
  const { model, node, step, ask, answer } = played("breaks");
  step(1, 3);
  assert.deepEqual([node.kubelet, node.applied, node.restarts], ["up", undefined, [one]]);
  assert.deepEqual(answer(), ["Failed", 1, 10]);
  step(5000, 2);
  assert.deepEqual(node.restarts, [one]);
  model.behaviour = () => "ready";
  ask(1, one, 20);
  step(1, 2);
  assert.deepEqual([node.applied, answer()], [one, ["Proved", 1, 20]]);
});

test("waits while the ordered content is not published", () => {
  const { node, step, ask } = played("ready", { ordered: false });
  ask(2, two, 10);
  step(1, 3);
  assert.deepEqual([node.restarts, node.report, isAtWork(node)], [[], undefined, true]);
});

test("removes everything on a release without an order, and forgets the release when its pod ends", () => {
  const { model, node, pod, begun, step, answer } = played();
  step(1, 3);
  model.secret = content(2, nothing, "release");
  step();
  assert.deepEqual([node.applied, node.restarts, begun], [undefined, [one], [1, 2]]);
  assert.deepEqual(answer(), ["Removed", 2, 10]);
  pod.deletedAt = model.now;
  step();
  assert.deepEqual([node.pods, node.journal, node.report], [[], undefined, undefined]);
});

test("removes a registry that the newest content lacks without an order or a restart", () => {
  const { model, node, step, ask } = played("ready", { ordered: false });
  model.secret = content(1, two);
  ask(1, two, 10);
  step(1, 2);
  model.secret = content(2, one);
  step();
  assert.deepEqual([node.applied, node.restarts], [one, [two]]);
  assert.equal(node.journal?.revision, 1);
});

test("repairs an overwritten file without a restart, and restarts again if this happened during a change", () => {
  const { model, node, step, answer } = played();
  step();
  model.overwrite(node);
  step();
  assert.deepEqual([node.applied, node.restarts, node.report], [one, [one, one], undefined]);
  step();
  assert.deepEqual(answer(), ["Proved", 1, 10]);
  model.overwrite(node);
  step();
  assert.deepEqual([node.applied, node.restarts.length], [one, 2]);
});

test("without an order, takes the served content once, or nothing if nothing is served", () => {
  for (const served of [0, 1]) {
    const { model, node, step, answer } = played("ready", { ordered: false, served });
    step(1, 3);
    assert.deepEqual(node.restarts, served === 1 ? [one] : []);
    if (served === 1) assert.deepEqual(answer(), ["Proved", 1, 0]);
    model.secret = { ...content(2, two), [servedKeys.revision]: "2" };
    step(100);
    assert.equal(node.restarts.length, 1, "it keeps what it has, or takes what is served now");
  }
});

test("takes the served content, not the newest, when its node joins during a rollout", () => {
  const { model, node, step } = played("ready", { ordered: false });
  model.secret = { ...content(2, two), ...content(1, one, "apply", servedKeys) };
  step(1, 3);
  assert.deepEqual([node.applied, node.journal?.revision], [one, 1]);
});

test("while a node is silent, sets only Ready of its pods to false, and later restores its old time", () => {
  const { model, node, pod, step } = played();
  step(1, 3);
  step(50);
  model.die(node);
  const { ready, containersReady } = pod.state;
  assert.deepEqual(
    [ready, containersReady],
    [
      { is: false, since: 53 },
      { is: true, since: 1 },
    ],
  );
  step();
  model.revive(node);
  assert.deepEqual(pod.state.ready, { is: true, since: 1 });
});

test("plays nothing on a machine that does not run, also before the node controller has noticed it", () => {
  const { node, step } = played();
  node.isSilent = true;
  step(1, 3);
  assert.deepEqual([node.restarts, node.ready.is, isAtWork(node)], [[], true, false]);
});

test("keeps no state of a node that is replaced under the same name", () => {
  const { model, node, step } = played();
  step(1, 2);
  model.leave(node.name);
  const next = model.join(node.name);
  assert.deepEqual([next.applied, next.pods, model.nodes], [undefined, [], [next]]);
});

test("reports times to the second", () => {
  const { pod, step } = played();
  step(1.7);
  const status = podStatus(pod) as { conditions: { lastTransitionTime: string }[] };
  assert.equal(status.conditions[3]?.lastTransitionTime, "1970-01-01T00:00:01.000Z");
});

/** Nodes whose pods have these templates, Ready since second 1, and the DaemonSet's rules. */
function rolling(hashes: readonly string[], maxUnavailable: number) {
  const model = new NodesModel(() => {});
  model.tick();
  const pods = hashes.map((hash) => model.place(model.join(), { hash }));
  for (const node of model.nodes) model.kubelet(node);
  const rules: DaemonRules = {
    hash: "new",
    minReadySeconds: 30,
    maxUnavailable,
    ready: readySince,
  };
  const sync = (now: number) => {
    const { create, remove, counts } = syncDaemonSet(rules, model.nodes, now);
    return { create, remove: remove.map((pod) => pods.indexOf(pod)), counts };
  };
  return { model, pods, sync };
}

test("creates missing pods, and counts the available ones", () => {
  const { model, sync } = rolling(["new", "new", "old"], 0);
  const joined = model.join();
  assert.deepEqual(sync(31), {
    create: [joined],
    remove: [],
    counts: { desired: 4, updated: 2, ready: 3, available: 3 },
  });
  assert.deepEqual(sync(30).counts.available, 0);
});

test("replaces available pods of an older template within maxUnavailable", () => {
  const { pods, sync } = rolling(["old", "old", "old", "new"], 2);
  assert.deepEqual(sync(31).remove, [0, 1]);
  assert.deepEqual(sync(30).remove, [0, 1, 2], "pods that are not available are replaced at once");
  for (const pod of pods.slice(0, 1)) pod.deletedAt = 31;
  assert.deepEqual(sync(31).remove, [1], "a pod that is being deleted takes a place");
});

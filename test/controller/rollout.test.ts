/** How revisions reach nodes, with the real DaemonSet controller and played kubelets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import { content, deployed, kubelets, names, on, rig, running, start, started, undeclare, untilIntent } from "./rig.ts";

rig();

test("agents come to every node before the first node is changed, and then one node follows the other", async () => {
  start("--max-unavailable", "1");
  await deployed();
  assert.deepEqual(
    kubelets.starts.slice(0, 3).map(({ revision }) => revision),
    [0, 0, 0],
  );
  assert.deepEqual(kubelets.order(1).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("a revision that fails stops at its first node, is told with the agent's last words, and gives way to a changed one", async () => {
  start("--max-unavailable", "100%");
  const good = await deployed();
  for (const one of running.splice(0)) await one.stop();
  start("--max-unavailable", "60%");
  kubelets.behaviour = (_, revision) => (revision === good + 1 ? "GPS203 kubelet.service did not come back" : "ready");
  await plane.declare(on, content("bad"));
  const event = await plane.untilEvent(on, "RolloutHalted", "GPS203", 120_000);
  assert.match(event.message, /stopped at 1 node: [a-c]: GPS203 kubelet.service did not come back/);
  assert.equal(started(good + 1), 1);
  await untilIntent("hold");
  await plane.declare(on, content("corrected"));
  await plane.untilRolledOut(on, good + 3);
  assert.equal(started(good + 1), 1);
});

test("what halted is held: joiners and replaced agents get the last good document, and an asked-for retry tries again", async () => {
  start("--max-unavailable", "1");
  const good = await deployed("good");
  kubelets.behaviour = (_, revision) => (revision === good + 1 ? "GPS203 kubelet.service did not come back" : "ready");
  await plane.declare(on, content("bad"));
  await untilIntent("hold");
  const held = await plane.published(on);
  assert.deepEqual([held?.revision, held?.document], [good + 2, content("good")]);
  await until("every node is told to keep what it has", () => started(good + 2) === names.length);
  const mostBefore = started(good + 1);
  await kubelets.add("late");
  await until("a joiner is told so as well", () => kubelets.order(good + 2).includes("late"));
  await on.cluster.kubectl(
    "delete",
    "pod",
    "-n",
    "kube-system",
    "-l",
    "name=global-pull-secret-syncer",
    "--wait=false",
  );
  await until("and so are replaced agents", () => started(good + 2) >= 2 * names.length + 1);
  assert.deepEqual([started(good + 1), mostBefore], [1, 1]);
  kubelets.behaviour = () => "ready";
  const retry = ["annotate", "secret", "additional-pull-secret", "-n", "kube-system", "globalpullsecret.io/retry=now"];
  await on.cluster.kubectl(...retry);
  await plane.untilRolledOut(on, good + 3);
  assert.equal((await plane.published(on))?.document, content("bad"));
  await kubelets.remove("late");
});

test("a node that is unfit holds up neither a change nor a removal: the three others get both at the normal pace", async () => {
  await kubelets.add("odd");
  kubelets.behaviour = (node) => (node === "odd" ? "refuses" : "ready");
  start("--max-unavailable", "1");
  const revision = await deployed();
  const begun = Date.now();
  await plane.declare(on, content("two"));
  const message = await plane.untilRolledOut(on, revision + 1, 150_000);
  assert.match(message, /is on 3 of 4 nodes .*: odd$/);
  assert.deepEqual(
    kubelets
      .order(revision + 1)
      .filter((node) => node !== "odd")
      .toSorted(),
    names,
  );
  const seconds = (Date.now() - begun) / 1000;
  assert.ok(seconds < 45, `${seconds} s`);
  await undeclare();
  await until("they have given back", () => names.every((node) => kubelets.order(revision + 2).includes(node)), {
    timeout: 150_000,
  });
  assert.equal(kubelets.mostAtOnce, 2, "the odd one and another");
  kubelets.behaviour = () => "ready";
  await plane.untilGone(on);
  await kubelets.remove("odd");
});

test("born unavailable: rollout status waits until the first revision is on every node", async () => {
  start("--max-unavailable", "1");
  kubelets.behaviour = (_, revision) => (revision === 0 ? "ready" : "hangs");
  await plane.declare(on, content("one"));
  await until("the first revision has begun", () => started(1) > 0);
  const status = ["rollout", "status", "daemonset/global-pull-secret-syncer", "-n", "kube-system", "--timeout=1s"];
  await assert.rejects(on.cluster.kubectl(...status));
  const { spec } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
  assert.equal(spec?.minReadySeconds, 3);
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, 1);
  await on.cluster.kubectl(...status);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("quick changes are coalesced: no revision overlaps another, and the last one arrives", async () => {
  start("--max-unavailable", "1");
  await deployed();
  for (const word of ["two", "three", "four", "five"]) await plane.declare(on, content(word));
  const last = await plane.untilPublished(on, content("five")).catch(() => plane.untilPublished(on, content("five")));
  await plane.untilRolledOut(on, last);
  assert.ok(last <= 3, `${last} revisions`);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("an edit of global-pull-secret in the middle of a rollout is repaired within seconds, not after it", async () => {
  start("--max-unavailable", "1");
  const before = await deployed();
  kubelets.behaviour = (_, revision) => (revision === before + 1 ? "hangs" : "ready");
  await plane.declare(on, content("two"));
  await until("the rollout is at its first node", () => started(before + 1) === 1);
  const data = { ".dockerconfigjson": Buffer.from(content("evil")).toString("base64") };
  const patch = ["secret", "global-pull-secret", "-n", "kube-system", "-p", JSON.stringify({ data })];
  await on.cluster.kubectl("patch", ...patch);
  const repaired = async () => (await plane.published(on))?.document === content("two");
  await until("it is repaired", repaired, { timeout: 10_000 });
  await plane.untilRolledOut(on, before + 2);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("a Ready that flickers, as after a kubelet's restart, is counted as soon as it may: the DaemonSet is looked at again", async () => {
  start("--max-unavailable", "1");
  const revision = await deployed();
  const nudged = async () =>
    (await on.api.get<V1DaemonSet>(paths.daemonSet))?.metadata?.annotations?.["globalpullsecret.io/nudged"] ?? "";
  const before = await nudged();
  const since = new Map<string, number>();
  kubelets.behaviour = (node, of) => {
    if (of <= revision) return "ready";
    if (!since.has(node)) since.set(node, Date.now());
    const age = Date.now() - (since.get(node) ?? 0);
    // Longer than the second to which Kubernetes rounds the time of a Ready.
    return age > 100 && age < 1300 ? "hangs" : "ready";
  };
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, revision + 1);
  assert.notEqual(await nudged(), before);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("a dead node neither eats the budget nor holds up rollout and removal, and catches up when it returns", async () => {
  start("--max-unavailable", "1");
  const revision = await deployed();
  await kubelets.die("b");
  await plane.declare(on, content("two"));
  const message = await plane.untilRolledOut(on, revision + 1);
  assert.match(message, /is on 2 of 3 nodes .* served when they return: b$/);
  assert.ok(!kubelets.order(revision + 1).includes("b"));
  await kubelets.revive("b");
  await until("b has it", () => kubelets.order(revision + 1).includes("b"));
});

test("a node that joins in the middle of a rollout gets the revision at once", async () => {
  start("--max-unavailable", "1");
  await plane.declare(on, content("one"));
  await until("the rollout has begun", () => started(1) > 0);
  await kubelets.add("late");
  await until("it has the revision", () => kubelets.order(1).includes("late"), { timeout: 10_000 });
  await plane.untilRolledOut(on, 1);
  assert.ok(!kubelets.order(0).includes("late"));
  await kubelets.remove("late");
});

test("a controller killed at random in rollout and drain comes to the same end", async (context) => {
  const seed = Date.now() % 100_000;
  context.diagnostic(`seed ${seed}`);
  let state = seed;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  const disturb = async (done: () => Promise<boolean>) => {
    for (let kill = 0; kill < 5 && !(await done()); kill++) {
      const one = start("--max-unavailable", "1");
      const begun = Date.now();
      const life = 700 + random() * 3000;
      await until("its time is up", () => Date.now() - begun > life, { every: 20 });
      await one.kill();
      await plane.freeLease(on);
    }
    start("--max-unavailable", "1");
  };
  await plane.declare(on, content("one"));
  await disturb(async () => (await plane.eventsOf(on)).some(({ reason }) => reason === "RolledOut"));
  await plane.untilRolledOut(on, 1);
  assert.deepEqual(kubelets.order(1).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
  for (const one of running.splice(0)) await one[Symbol.asyncDispose]();
  await undeclare();
  await disturb(async () => (await on.api.get(paths.global)) === undefined);
  await plane.untilGone(on);
  assert.deepEqual(kubelets.order(2).toSorted(), names);
});

test("two controllers at once: no double rollout, no lost change, one content per revision", async () => {
  start("--max-unavailable", "1");
  start("--max-unavailable", "1");
  await plane.declare(on, content("one"));
  await plane.untilRolledOut(on, 1);
  const contents = new Map<number, Set<string>>();
  for (const word of ["two", "three"]) {
    await plane.declare(on, content(word));
    await until("it is published", async () => {
      const now = await plane.published(on);
      if (now !== undefined) contents.set(now.revision, (contents.get(now.revision) ?? new Set()).add(now.document));
      return now?.document === content(word);
    });
  }
  const last = (await plane.published(on))?.revision ?? 0;
  await plane.untilRolledOut(on, last);
  assert.ok([...contents.values()].every((documents) => documents.size === 1));
  for (let revision = 1; revision <= last; revision++) assert.ok(started(revision) <= names.length);
  assert.equal(kubelets.mostAtOnce, 1);
  assert.equal(
    (await plane.eventsOf(on)).filter(
      ({ reason, message }) => reason === "RolledOut" && message.includes(`revision ${last} `),
    ).length,
    1,
  );
});

test("an upgrade of the agent keeps the revision and goes to one node first", async () => {
  start("--max-unavailable", "100%");
  const revision = await deployed();
  for (const one of running.splice(0)) await one.stop();
  const before = kubelets.starts.length;
  start("--max-unavailable", "2", "--kubelet-unit", "k3s.service");
  await until("every agent was replaced", () => kubelets.starts.length - before === names.length);
  const starts = kubelets.starts.slice(before);
  assert.deepEqual([...new Set(starts.map((one) => one.revision))], [revision]);
  assert.ok((starts[1]?.at ?? 0) - (starts[0]?.at ?? 0) >= 3000, "the second followed before the first was available");
  assert.equal(
    (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template.metadata?.annotations?.[
      "globalpullsecret.io/revision"
    ],
    String(revision),
  );
});

test("nothing moves when nothing changed", async () => {
  start();
  await deployed();
  const count = kubelets.starts.length;
  for (const one of running.splice(0)) await one.stop();
  start();
  await stays("no agent starts", () => kubelets.starts.length === count, 4000);
});

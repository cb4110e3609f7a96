/** How revisions reach nodes, with the real DaemonSet controller and fake kubelets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { killedAtRandom } from "./killed.ts";
import * as plane from "./plane.ts";
import { paths } from "./plane.ts";
import { content, deployed, kubelets, names, on, rig, served, start, started } from "./rig.ts";

rig();

test("agents come to every node before the first node is changed, and then one node follows the other", async () => {
  await start(1);
  await deployed();
  assert.deepEqual(
    kubelets.starts.slice(0, 3).map(({ revision }) => revision),
    [0, 0, 0],
  );
  assert.deepEqual(kubelets.order(1).toSorted(), names);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("born unavailable: rollout status waits until the first revision is on every node", async () => {
  await start(1);
  kubelets.behaviour = (_, revision) => (revision === 0 ? "ready" : "hangs");
  await plane.declare(on, content("one"));
  await until("the first revision has begun", () => started(1) > 0);
  const status = ["rollout", "status", "daemonset/global-pull-secret-syncer", "-n", "kube-system"];
  await assert.rejects(on.cluster.kubectl(...status, "--timeout=1s"));
  const { spec } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
  assert.equal(spec?.minReadySeconds, 3);
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, 1);
  await on.cluster.kubectl(...status, "--timeout=60s");
  assert.equal(kubelets.mostAtOnce, 1);
});

test("quick changes are coalesced: no revision overlaps another, and the last one arrives", async () => {
  await served(1);
  for (const word of ["two", "three", "four", "five"]) await plane.declare(on, content(word));
  // Not before "two" is on every node, which takes three nodes one after the other.
  const last = await plane.untilPublished(on, content("five"), 60_000);
  await plane.untilRolledOut(on, last);
  assert.ok(last <= 3, `${last} revisions`);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("an edit of global-pull-secret in the middle of a rollout is repaired within seconds, not after it", async () => {
  const before = await served(1);
  kubelets.behaviour = (_, revision) => (revision === before + 1 ? "hangs" : "ready");
  await plane.declare(on, content("two"));
  await until("the rollout is at its first node", () => started(before + 1) === 1);
  const data = { ".dockerconfigjson": Buffer.from(content("evil")).toString("base64") };
  const patch = [
    "secret",
    "global-pull-secret",
    "-n",
    "kube-system",
    "-p",
    JSON.stringify({ data }),
  ];
  await on.cluster.kubectl("patch", ...patch);
  const repaired = async () => (await plane.published(on))?.document === content("two");
  await until("it is repaired", repaired, { timeout: 10_000 });
  await plane.untilRolledOut(on, before + 2);
  assert.equal(kubelets.mostAtOnce, 1);
});

test("a node that joins in the middle of a rollout gets the revision at once", async () => {
  await start(1);
  await plane.declare(on, content("one"));
  await until("the rollout has begun", () => started(1) > 0);
  await kubelets.add("late");
  await until("it has the revision", () => kubelets.order(1).includes("late"), { timeout: 10_000 });
  await plane.untilRolledOut(on, 1);
  assert.ok(!kubelets.order(0).includes("late"));
  await kubelets.remove("late");
});

test("a controller killed at random in rollout and withdrawal comes to the same end", (context) =>
  killedAtRandom(context, 2));

test("an upgrade of the agent keeps the revision and goes to one node first", async () => {
  const revision = await served(2, "--kubelet-unit", "k3s.service");
  await until("every agent was replaced", () => kubelets.starts.length === 2 * names.length);
  const starts = kubelets.starts.slice(names.length);
  assert.deepEqual([...new Set(starts.map((one) => one.revision))], [revision]);
  assert.ok(
    (starts[1]?.at ?? 0) - (starts[0]?.at ?? 0) >= 3000,
    "the second followed before the first was available",
  );
  assert.equal(
    (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template.metadata?.annotations?.[
      "globalpullsecret.io/revision"
    ],
    String(revision),
  );
});

test("nothing moves when nothing changed", async () => {
  await served();
  const count = kubelets.starts.length;
  await stays("no agent starts", () => kubelets.starts.length === count, 4000);
});

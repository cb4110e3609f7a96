/**
 * Machines that die and agents that freeze while they are asked, with the real DaemonSet controller
 * and node controller and simulated kubelets. The controller waits about six minutes for a
 * node that does not answer.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content } from "./plane.ts";
import { kubelets, on, published, rig, served, start, undeclare } from "./rig.ts";
import { statusOf, untilCondition } from "./steer.ts";

rig();

const isHalted = async () =>
  (await plane.eventsOf(on)).some(({ reason }) => reason === "RolloutHalted");

/** Nodes that have this content. */
const have = (word: string) =>
  kubelets.model.nodes.filter(({ applied }) => applied === content(word));

test("does not halt when the first machine that is asked dies, and serves the other nodes", async (t) => {
  const before = await served(1);
  const asked = () => kubelets.model.nodes.find(({ order }) => (order?.revision ?? 0) > before);
  kubelets.behaviour = (_, revision) => (revision > before ? "hangs" : "ready");
  const revision = await published("two");
  const dead = await until("a node is asked", asked);
  kubelets.silence(dead.name);
  kubelets.behaviour = () => "ready";
  const message = await plane.untilRolledOut(on, revision, 300_000);
  t.diagnostic(message);
  assert.match(message, new RegExp(`is on 2 of 3 nodes .*: ${dead.name}$`));
  assert.equal(await isHalted(), false);
  await kubelets.revive(dead.name);
  await until("the machine has the content when it returns", () => have("two").length === 3);
});

test("delays neither the next content nor a removal while one agent stays frozen", async () => {
  const before = await served(1);
  const asked = () => kubelets.model.nodes.find(({ order }) => (order?.revision ?? 0) > before);
  kubelets.behaviour = (_, revision) => (revision > before ? "hangs" : "ready");
  const revision = await published("two");
  const frozen = await until("a node is asked", asked);
  kubelets.behaviour = (node) => (node === frozen.name ? "hangs" : "ready");
  await plane.untilRolledOut(on, revision, 300_000);
  await plane.declare(on, content("three"));
  await until("the others have the next content", () => have("three").length === 2);
  await undeclare();
  const others = kubelets.model.nodes.filter((node) => node !== frozen);
  await until("the others have removed the entries", () =>
    others.every(({ applied }) => applied === undefined),
  );
  assert.equal(await isHalted(), false);
  kubelets.behaviour = () => "ready";
  await plane.untilGone(on);
});

test("is not Ready while 1 of 10 nodes has the content, and halts until silent nodes answer", async () => {
  for (let index = 0; index < 7; index += 1) await kubelets.add(`more-${index}`);
  kubelets.behaviour = (node) => (node === "a" ? "ready" : "hangs");
  await start("100%");
  const revision = await published("one");
  await until("one node has it", () => have("one").length === 1);
  await untilCondition(on, "Stalled", "True", "Halted", 300_000);
  const { conditions = [], nodes } = await statusOf(on);
  assert.equal(conditions.find(({ type }) => type === "Ready")?.status, "False");
  assert.equal(nodes?.silent, 9);
  kubelets.behaviour = () => "ready";
  await plane.untilRolledOut(on, revision);
  await untilCondition(on, "Ready", "True", "InForce");
});

/**
 * Tests every Type of a kubelet's unit, every time at which the kubelet may die with the new file,
 * and a start limit that lasts longer than the attempts.
 */
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { assertFileRestored, types } from "./deaths.ts";
import { Inside } from "./inside.ts";
import { content } from "./place.ts";

let cluster: Cluster;
let inside: Inside;
let revision = 0;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  const [machine] = cluster.nodes;
  assert.ok(machine);
  inside = await Inside.on(machine);
});

after(() => cluster?.down());

/** Seconds until the kubelet dies, and whether systemd restarts it; each with every Type. */
const deaths = [
  [0, "always"],
  [3, "always"],
  [15, "always"],
  [3, "no"],
] as const;

test("H18: restores the old file if a kubelet of any Type dies at once, after 3 s or after 15 s, with or without restarts by systemd", async (t) => {
  for (const type of types)
    for (const [seconds, restarts] of deaths) {
      revision += 1;
      await inside.fresh();
      inside.node.mount(revision, content);
      await assertFileRestored(inside, revision, { type, seconds, restarts });
      t.diagnostic(`${type}, after ${seconds} s, Restart=${restarts}`);
    }
});

test("resets a long start limit before each attempt, and leaves the kubelet running with the old file", async () => {
  revision += 1;
  await inside.fresh();
  inside.node.mount(revision, content);
  // Attempts are at most a minute apart. Without a reset, the limit would block all of them for ten
  // minutes.
  const limited =
    "[Unit]\nStartLimitIntervalSec=10min\nStartLimitBurst=3\n[Service]\nRestartSec=100ms\n";
  await inside.machine.breakKubelet(
    `${limited}ExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n`,
  );
  const hits = async () =>
    (await inside.machine.journal()).split("Start request repeated too quickly").length;
  const before = await hits();
  await inside.start(revision);
  assert.equal(await inside.ended(300_000), "1");
  assert.ok((await hits()) > before, "the limit was never reached");
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

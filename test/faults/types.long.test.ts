/**
 * Tests every Type of the kubelet's unit with kubelets that die at different times, and a start
 * limit that lasts longer than the attempts.
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
  inside = await Inside.on(machine, cluster);
});

after(() => {
  inside?.[Symbol.dispose]();
  cluster?.down();
});

/**
 * Seconds until the kubelet dies, and whether systemd restarts the kubelet. The test combines each
 * row with every Type.
 */
const deaths = [
  [0, "always"],
  [3, "always"],
  [15, "always"],
  [3, "no"],
] as const;

test("H18: if the kubelet dies, restores the old file for any Type of unit and time of death, with or without restarts by systemd", async (t) => {
  for (const type of types)
    for (const [seconds, restarts] of deaths) {
      revision += 1;
      await inside.fresh();
      inside.node.mount(revision, content);
      await assertFileRestored(inside, revision, { type, seconds, restarts });
      t.diagnostic(`${type}, after ${seconds} s, Restart=${restarts}`);
    }
});

test("restores the old file and restarts the kubelet even under a start limit of ten minutes", async () => {
  revision += 1;
  await inside.fresh();
  inside.node.mount(revision, content);
  // Attempts are at most a minute apart. If the agent did not reset the limit, the limit would
  // block all attempts for ten minutes.
  const limited =
    "[Unit]\nStartLimitIntervalSec=10min\nStartLimitBurst=3\n[Service]\nRestartSec=100ms\n";
  await inside.machine.breakKubelet(
    `${limited}ExecStartPre=/bin/sh -c 'test ! -e /var/lib/kubelet/config.json'\n`,
  );
  const hits = async () =>
    (await inside.machine.journal()).split("Start request repeated too quickly").length;
  const before = await hits();
  await inside.start(revision);
  await inside.fails(300_000);
  assert.ok((await hits()) > before, "the limit was never reached");
  assert.equal(inside.node.file, undefined);
  assert.equal((await inside.kubelet()).ActiveState, "active");
});

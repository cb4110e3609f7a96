/**
 * Runs the commands of the page docs/use/quick-start.md and compares their output with the page.
 * The node has no D-Bus daemon, like kind's nodes. `npm`, `podman` and `kind` are fakes that do
 * nothing, because plugin, image and cluster already exist.
 */
import assert from "node:assert/strict";
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { helm } from "../install/go-tools.ts";
import { deskAt, missingLine, pageOf } from "../page.ts";
import { auths } from "./nodes.ts";
import { untilState } from "./pods.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  const masked = (rootfs: string, unit: string): void =>
    symlinkSync("/dev/null", join(rootfs, "etc/systemd/system", unit));
  const node = await cluster.addNode({
    before: ({ rootfs }) => {
      for (const unit of ["dbus.service", "dbus.socket", "dbus-broker.service"])
        masked(rootfs, unit);
    },
  });
  const socket = "ls /run/dbus/system_bus_socket 2>/dev/null || true";
  assert.equal((await node.exec(["sh", "-c", socket])).trim(), "");
});
after(() => cluster?.down());

function fake(folder: string): string {
  const file = join(folder, "fake");
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o755);
  return file;
}

test("runs a private image after the steps of the quick start, on a node without D-Bus", async () => {
  const { registry, directory } = cluster;
  const image = await cluster.pushApp("team/app:1");
  const ours = await buildImage(cluster, { tag: "0.3.0" });
  const repository = ours.slice(0, ours.lastIndexOf(":"));
  const nothing = fake(directory);
  const desk = deskAt(join(directory, "desk"), {
    contexts: { "kind-kind": cluster },
    programs: {
      podman: nothing,
      kind: nothing,
      npm: nothing,
      helm: await helm(),
    },
  });
  writeFileSync(join(desk.folder, "token"), `${registry.users["additional"]}\n`, { mode: 0o600 });
  const states: string[] = [];
  for (const { body, printed } of pageOf("use/quick-start.md").blocksBelow(
    "# Quick start on kind",
  )) {
    const adapted = body
      .replaceAll("localhost/global-pull-secret", repository)
      .replaceAll("REGISTRY/IMAGE", image)
      .replaceAll("REGISTRY", registry.host)
      .replaceAll("-u USER ", "-u additional ");
    if (adapted === "kubectl get pod private\n") {
      const state = states.length === 0 ? "ImagePullBackOff" : "Running";
      await untilState(cluster, "private", state);
      states.push(state);
    }
    const its = await desk.run(adapted);
    // The fakes print nothing, so there is no output to compare.
    if (/^(?:npm|kind) /.test(body)) continue;
    assert.ok(printed, `the page shows no output of ${body}`);
    const shown = printed.replaceAll("REGISTRY", registry.host);
    assert.equal(missingLine(shown, its), undefined, `${body}\n${its}`);
  }
  assert.deepEqual(states, ["ImagePullBackOff", "Running"]);
  await product.untilRemoved(cluster);
  assert.deepEqual(auths(cluster.nodes[0]), {});
});

/**
 * The quick start, as its page shows it, on a node without a D-Bus daemon, as kind's are. `podman`
 * and `kind` are fakes that do nothing but write the login: image and cluster are there already.
 */
import assert from "node:assert/strict";
import { chmodSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { helm } from "../install/go-tools.ts";
import { deskAt, pageOf } from "../page.ts";
import { auths } from "./nodes.ts";
import { pullRefused, untilState } from "./pods.ts";
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

/** A program that writes this to the file after --authfile, if it is given one. */
function writes(folder: string, name: string, document: string): string {
  const file = join(folder, `fake-${name}`);
  const script = `case "$1 $2" in "login --authfile") printf '%s' '${document}' > "$3";; esac`;
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("a pod with a private image runs after the steps of the quick start, on a node without D-Bus", async () => {
  const { registry, directory } = cluster;
  const image = await cluster.pushApp("team/app:1");
  const ours = await buildImage(cluster, { tag: "0.2.0" });
  const repository = ours.slice(0, ours.lastIndexOf(":"));
  const nothing = (name: string) => writes(directory, name, "");
  const desk = deskAt(join(directory, "desk"), {
    contexts: { "kind-kind": cluster },
    programs: {
      podman: writes(directory, "podman", registry.document("additional")),
      kind: nothing("kind"),
      npm: nothing("npm"),
      helm: await helm(),
    },
  });
  const pods = { private: 0 };
  for (const { body } of pageOf("use/quick-start.md").blocksBelow("# Quick start on kind")) {
    const adapted = body
      .replaceAll("localhost/global-pull-secret", repository)
      .replaceAll("REGISTRY/IMAGE", image)
      .replaceAll("REGISTRY", registry.host);
    await desk.run(adapted);
    if (!adapted.includes("kubectl run private")) continue;
    pods.private += 1;
    await untilState(cluster, "private", ...(pods.private === 1 ? pullRefused : ["Running"]));
  }
  assert.equal(pods.private, 2);
  await product.untilRemoved(cluster);
  assert.deepEqual(auths(cluster.nodes[0]), {});
});

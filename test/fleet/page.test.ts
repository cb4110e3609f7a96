/**
 * The exact commands of the walk-through in docs/extend/fleet.md, on a management cluster and two
 * workload clusters.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { startCluster } from "../cluster/cluster.ts";
import { deskAt, follow, pageOf } from "../page.ts";
import * as fleet from "./fleet.ts";

const password = "planted-7d40";
const names = ["guest-a", "guest-b"] as const;

let home: fleet.Home;
let guests: readonly fleet.GuestCluster[];

before(async () => {
  const guest = async () => await fleet.guestOf(await startCluster({ apiOnly: true }));
  [home, ...guests] = await Promise.all([fleet.startHome(), guest(), guest()]);
  // Declares the clusters as Cluster API does. No object selects them yet.
  for (const [at, name] of names.entries())
    await fleet.declareGuest(home, name, guests[at]?.kubeconfig ?? assert.fail(name), {});
});
after(() => [home, ...(guests ?? [])].forEach((member) => member?.cluster.down()));

test("K2, K3, K6, K8: runs the page's walk-through unchanged, and prints the same output as the page", async () => {
  const [a, b] = guests.map(({ cluster }) => cluster);
  assert.ok(a && b);
  const contexts = { management: home.cluster, "guest-a": a, "guest-b": b };
  const desk = deskAt(join(home.cluster.directory, "desk"), { contexts });
  const auths = { "registry.example.com": { username: "robot", password } };
  writeFileSync(join(desk.folder, "pull-secret.json"), JSON.stringify({ auths }));
  await using controller = fleet.startFleet(home);
  const blocks = pageOf("extend/fleet.md").blocksBelow("## Walk-through");
  assert.equal(blocks.filter(({ printed }) => printed !== undefined).length, 3);
  assert.ok(!(await follow(desk, blocks)).includes(password));
  const document = (await fleet.targetIn(guests[1]!))?.data?.[".dockerconfigjson"] ?? "";
  assert.ok(Buffer.from(document, "base64").includes(password), "the Secret came back complete");
  assert.ok(!controller.output().includes(password));
});

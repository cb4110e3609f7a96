/**
 * Joins clusters from one place. The tests use three real API servers, the shipped plugin (with one
 * user's kubeconfig), and the fleet controller with the rights of manifests/fleet.
 */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before } from "node:test";
import { startCluster } from "../cluster/cluster.ts";
import * as fleet from "../fleet/fleet.ts";
import { ailing } from "./ailing.fixture.ts";
import { applying } from "./applying.fixture.ts";
import { personWith, type Rig } from "./clusters.ts";
import { installCrd } from "./inventory.ts";
import { joining } from "./joining.fixture.ts";
import { removing } from "./removing.fixture.ts";
import { sealing } from "./sealing.fixture.ts";

let rig: Rig | undefined;

before(async () => {
  const [home, east, west] = await Promise.all([
    fleet.startHome(),
    startCluster({ nodes: 0 }),
    startCluster({ nodes: 0 }),
  ]);
  await installCrd(home.cluster);
  const person = personWith({ host: home.cluster, "admin@east": east, west });
  rig = { home, east, west, person, controller: fleet.startFleet(home) };
});
after(async () => {
  await rig?.controller[Symbol.asyncDispose]();
  for (const one of [rig?.home.cluster, rig?.east, rig?.west]) one?.down();
  if (rig !== undefined) rmSync(rig.person.folder, { recursive: true });
});

const on = (): Rig => {
  assert.ok(rig);
  return rig;
};

joining(on);
ailing(on);
applying(on);
sealing(on);
removing(on);

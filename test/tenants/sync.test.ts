/**
 * All tests of a tenant's Secrets in the management cluster, with two real API servers and both
 * programs.
 */
import { after, afterEach, before } from "node:test";
import { boundsTests } from "./bounds.ts";
import { holesTests } from "./holes.ts";
import { killTests } from "./kills.ts";
import { leavingTests, uninstallTests } from "./leaving.ts";
import { lifeTests } from "./life.ts";
import { recipeTests } from "./recipes.ts";
import { rightsTests } from "./rights.ts";
import { startRig, type Rig } from "./rig.ts";
import { reportedTests } from "./told.ts";
import { troubleTests } from "./trouble.ts";

let shared: Rig | undefined;
const rig = (): Rig => {
  if (shared === undefined) throw new Error("the clusters are not up");
  return shared;
};

before(async () => {
  shared = await startRig();
});
after(async () => {
  await shared?.stop();
  for (const side of [shared?.management, shared?.tenant]) side?.cluster.down();
});
// Each test begins and ends without objects.
afterEach(async () => {
  rig().start();
  const all = ["delete", "syncsecrets", "--all", "-A", "--timeout=60s"];
  await rig().tenant.cluster.kubectl(...all);
});

lifeTests(rig);
boundsTests(rig);
rightsTests(rig);
holesTests(rig);
troubleTests(rig);
leavingTests(rig);
killTests(rig);
recipeTests(rig);
reportedTests(rig);
uninstallTests(rig);

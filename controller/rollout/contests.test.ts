/** Another operator undoes our writes once a second for two minutes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { wantedOf } from "#controller/objects/global-secret.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { owned, type OwnedName } from "#kube/client/paths.ts";
import { Contested, contested } from "#kube/contested-client.ts";
import { directly } from "#test/harness/api/direct.ts";
import { nothingLeft, firstContent, two, World } from "./world.fixture.ts";

const seconds = 120;
/**
 * The most writes of the same content. Each of our two field managers is allowed to write this
 * content twenty times at once, and then once a minute.
 */
const most = 2 * (20 + seconds / 60 + 1);

async function deployed() {
  const world = await World.of({ a: "proves", b: "proves" });
  const { cluster, listContests: listed } = contested(
    world.cluster,
    () => world.seconds * 1000,
    wantedOf,
  );
  Object.assign(world.remover, { cluster });
  await world.until(firstContent, ({ ended }) => ended);
  return { world, listed, other: directly(world.api, "other-operator") };
}

/** How the other operator changes each object. */
const edits: Readonly<Record<OwnedName, object>> = {
  state: { data: { rollout: "" } },
  global: { data: { ".dockerconfigjson": btoa('{"auths":{}}') } },
  serviceAccount: { automountServiceAccountToken: true },
  role: { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] },
  roleBinding: { subjects: [] },
  daemonSet: { spec: { minReadySeconds: 9 } },
};

for (const name of Object.keys(owned) as OwnedName[])
  for (const how of ["edits", "deletes"] as const)
    test(`when another client ${how} the ${name} repeatedly, writes once a minute and names that client`, async () => {
      const { world, listed, other } = await deployed();
      const path = owned[name];
      const from = world.api.asked.length;
      const reported = new Set<string | undefined>();
      for (let passed = 0; passed < seconds; passed += 1) {
        if (how === "deletes") world.delete(path);
        else if (world.api.object(path) !== undefined)
          await other.apply(path, edits[name], { manager: "other-operator", force: true });
        await world.step(firstContent).catch((error: unknown) => {
          if (!(error instanceof Contested)) throw error;
        });
        for (const contest of listed()) reported.add(`${contest.path} ${contest.manager}`);
      }
      const plural = path.split("/").at(-2) ?? "";
      const object = path.split("/").at(-1);
      const writes = world.api.asked
        .slice(from)
        .filter(
          (asked) =>
            asked.userAgent === fieldManager &&
            asked.verb === "patch" &&
            asked.resource.endsWith(plural) &&
            asked.name === object &&
            asked.query["dryRun"] === undefined,
        );
      assert.ok(writes.length <= most, `${writes.length} writes`);
      assert.deepEqual(
        [...reported],
        [`${path} ${how === "edits" ? "other-operator" : undefined}`],
      );
    });

test("publishes other content or a withdrawal at once while another client undoes the previous content", async () => {
  const { world, other } = await deployed();
  const undo = () =>
    other.apply(owned.global, edits.global, { manager: "other-operator", force: true });
  const step = (target: typeof firstContent) => world.step(target).catch(() => undefined);
  const revisions = new Set<number | undefined>();
  for (let passed = 0; passed < 60; passed += 1) {
    await undo();
    await step(firstContent);
    revisions.add(world.published?.revision);
  }
  assert.ok(revisions.size < 30, String(revisions.size));
  await step(two);
  assert.equal(world.published?.document, two.document);
  await undo();
  await step(nothingLeft);
  assert.equal(world.published?.intent, "release");
});

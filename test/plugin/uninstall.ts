/**
 * `uninstall` with a real controller. During the uninstall the tests stop the controller and kill
 * the plugin.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { options } from "#plugin/cases.fixture.ts";
import { definition, deployment, installation } from "#plugin/removal/objects.ts";
import { until } from "../cluster/await.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { deployed, document, ownPaths, paths, startController } from "../controller/plane.ts";
import { program, type PluginRig } from "./rig.ts";

/** These must be the last tests of a cluster, because they remove the product. */
export function uninstallTests({ on, plugin }: PluginRig): void {
  const findRemaining = async (all: readonly string[]) => {
    const objects = await Promise.all(all.map((path) => on().api.get(path, { as: "metadata" })));
    return all.filter((_, at) => objects[at] !== undefined);
  };

  test("uninstall restores the nodes, then removes all except the user's Secrets, even if an earlier uninstall was killed", async () => {
    const all = installation.map(({ path }) => path).filter((path) => !path.includes("/leases/"));
    const present = await findRemaining(all);
    assert.ok(present.includes(deployment.path));
    await using kubelets = new NodesDriver(on().api).start();
    await kubelets.add("n1");
    {
      await using _ = startController(on().kubeconfig);
      await deployed(on(), document({ "a.io": "u:p" }));
    }
    const argv = ["uninstall", "--yes", "--kubeconfig", on().cluster.kubeconfig];
    const killed = spawn(process.execPath, [program, ...argv], options);
    await until("it is withdrawn", async () => {
      const object = await on().api.get<GlobalPullSecret>(globalPullSecretPath);
      return object?.spec?.managementState === "Withdrawn";
    });
    killed.kill("SIGKILL");
    await once(killed, "close");

    // Without a controller the agents restore no node, therefore the plugin must delete nothing.
    const held = await plugin("uninstall --yes --timeout 10s");
    assert.equal(held.code, 3, held.err);
    assert.match(held.err, /nothing is deleted: generation \d+ of spec is not read/);
    assert.deepEqual(await findRemaining(all), present);
    assert.ok((await findRemaining(ownPaths)).length > 0);

    await using _ = startController(on().kubeconfig);
    const done = await plugin("uninstall --yes --timeout 3m -o json");
    assert.equal(done.code, 0, done.err);
    const { deleted, kept } = JSON.parse(done.out) as { deleted: string[]; kept: string[] };
    assert.equal(deleted.at(-1), `${definition.kind}/${definition.name}`);
    assert.deepEqual(kept, ["additional-pull-secret"]);
    assert.deepEqual(
      await findRemaining([...ownPaths, ...installation.map(({ path }) => path)]),
      [],
    );
    await until(
      "the CRD is gone",
      async () => (await findRemaining([definition.path])).length === 0,
    );
    assert.deepEqual(await findRemaining([paths.additional]), [paths.additional]);

    const again = await plugin("uninstall --yes");
    assert.deepEqual([again.code, again.err], [0, ""]);
    assert.match(again.out, /^nothing of the product is left\n/);
  });
}

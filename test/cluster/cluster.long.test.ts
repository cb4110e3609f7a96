import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { startCluster, type Cluster } from "./cluster.ts";
import { tracesOf } from "./host/traces.ts";
import { may } from "./rights.ts";

suite("a real cluster", () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster({ nodes: 0 });
  });
  after(() => {
    cluster.down();
    assert.deepEqual(tracesOf(cluster.directory), [], "leaves nothing behind after down()");
  });

  test("the registry refuses the former password of an account", async () => {
    const { users } = cluster.registry;
    const answer = async (): Promise<number> => {
      const authorization = `Basic ${cluster.registry.auth("additional").auth}`;
      return (await fetch(`http://${cluster.registry.address}/v2/`, { headers: { authorization } }))
        .status;
    };
    const before = await answer();
    const authorization = `Basic ${cluster.registry.auth("additional").auth}`;
    await cluster.registry.setUsers({ ...users, additional: "another" });
    const old = await fetch(`http://${cluster.registry.address}/v2/`, {
      headers: { authorization },
    });
    const changed = await answer();
    await cluster.registry.setUsers(users);
    assert.deepEqual([before, old.status, changed, await answer()], [200, 401, 200, 200]);
  });

  test("may() fails when a test asks for rights on a misspelt resource", async () => {
    const group = "rbac.authorization.k8s.io";
    assert.equal(await may(cluster, "somebody", "get", "pods:exec", "default"), false);
    assert.equal(await may(cluster, "somebody", "bind", `clusterroles.${group}/admin`), false);
    for (const what of ["pod", "pods:exce", "clusterroles", `clusterrole.${group}`, "pods.none"])
      await assert.rejects(may(cluster, "somebody", "get", what), /serves no such resource/, what);
  });
});

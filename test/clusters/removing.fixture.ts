/** Removes joined clusters. These tests run last, because they end the joins. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clustersNamespace } from "#contract/joined.ts";
import { until } from "../cluster/await.ts";
import * as fleet from "../fleet/fleet.ts";
import { guardsIn, joinedIn, profileIn, tokenIn, type Rig } from "./clusters.ts";
import { assertShown } from "./page.ts";

/**
 * Asserts that the FleetSecret's status does not list the cluster any more, not even among the
 * clusters that the controller has given up.
 */
async function forgotten(home: fleet.Home, name: string): Promise<void> {
  const { clusters = [], givenUp = [] } = (await fleet.objectIn(home))?.status ?? {};
  const listed = [...clusters, ...givenUp].filter(
    (one) => one.name === `${clustersNamespace}/${name}`,
  );
  assert.deepEqual(listed, []);
}

export function removing(on: () => Rig): void {
  test("keeps an unreachable cluster joined until `fleet remove --forget`", async () => {
    const { person, home, west } = on();
    await west.stopApiServer();
    await person.refused("fleet remove west --yes", /no answer/);
    assert.ok(await profileIn(home.cluster, "west"));
    assert.ok(await tokenIn(home.cluster, "west"));
    const { code, err } = await person.plugin("fleet remove west --forget");
    assert.equal(code, 0);
    assert.match(err, /^west: the join's objects there, and its token, stay/);
    assert.equal(await profileIn(home.cluster, "west"), undefined);
    assert.equal(await tokenIn(home.cluster, "west"), undefined);
    await forgotten(home, "west");
    await west.startApiServer();
    assert.equal(await joinedIn(west), true);
  });

  test("removes from the cluster and the host only what the join and its FleetSecret have created", async () => {
    const { person, home, east } = on();
    const its = ["-n", "kube-system"];
    await fleet.untilState(home, `${clustersNamespace}/east`, "Done");
    const theirs = { apiVersion: "v1", kind: "Secret", data: { a: "eA==" } };
    const metadata = { name: "fleet-pull-secret", namespace: "kube-system" };
    await east.apply({ ...theirs, metadata });
    const out = await person.ok("fleet remove east --yes");
    assertShown("extend/clusters.md", "kubectl pull-secret fleet remove east", out);
    assert.equal(await joinedIn(east), false);
    const ours = ["global-pull-secret-joined"];
    for (const kind of ["role", "rolebinding", "clusterrole", "clusterrolebinding"])
      assert.equal(await east.get(kind, ...ours, ...its), undefined, kind);
    assert.deepEqual(await guardsIn(east), []);
    assert.equal(await east.get("secret", "global-pull-secret-joined-token", ...its), undefined);
    assert.equal(await east.get("secret", "pull-secret", ...its), undefined);
    // This Secret has the name of a target, but belongs to another owner, so it stays.
    assert.ok(await east.get("secret", "fleet-pull-secret", ...its));
    assert.equal(await profileIn(home.cluster, "east"), undefined);
    await forgotten(home, "east");
    await until(
      "the token in the host is deleted",
      async () => (await tokenIn(home.cluster, "east")) === undefined,
    );
    await person.refused("fleet remove east --yes", /^east: not joined; /);
  });

  test("neither takes over nor deletes the account of another host's join", async () => {
    const { person, east } = on();
    const joined = ["serviceaccount", "global-pull-secret-joined", "-n", "kube-system"];
    await east.kubectl("create", ...joined);
    await east.kubectl("annotate", ...joined, "globalpullsecret.io/joined-by=another/east");
    await person.refused("fleet join east --context east", /was made by another\/east; /);
    assert.equal(await joinedIn(east), true);
  });
}

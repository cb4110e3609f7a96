import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";

test("an empty --context is not the current one, which mostly is the host: nothing is asked", async () => {
  const cluster = new FakeCluster();
  cluster.get = () => assert.fail("a cluster is asked");
  const { code, out, err } = await call(["clusters join", "east", "--context", ""], { cluster });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.equal(
    err,
    "--context: is empty; give the kubeconfig's context of the cluster that is meant\n",
  );
});

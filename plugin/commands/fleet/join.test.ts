import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";

test("refuses an empty --context before any request", async () => {
  const cluster = new FakeCluster();
  cluster.get = () => assert.fail("a request is sent");
  const { code, out, err } = await call(["fleet join", "east", "--context", ""], { cluster });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.equal(err, "--context: is empty; give the kubeconfig's context of the joined cluster\n");
});

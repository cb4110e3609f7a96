import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { withToken } from "./flags.ts";

test("refuses an empty --context before any request", async () => {
  const cluster = new FakeCluster();
  cluster.get = () => assert.fail("a request is sent");
  const { code, out, err } = await call(["clusters join", "east", "--context", ""], { cluster });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.equal(err, "--context: is empty; give the kubeconfig's context of the joined cluster\n");
});

test("ignores --as and --as-group for requests with the new account's token", () => {
  const how = { kubeconfig: "k", context: "east", "request-timeout": 1 };
  const {
    as,
    "as-group": groups,
    ...others
  } = withToken({ ...how, as: "admin", "as-group": ["admins"] }, "t");
  assert.deepEqual([as, groups, others], [undefined, undefined, { ...how, token: "t" }]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster } from "../fake.fixture.ts";
import { whole } from "../object.fixture.ts";

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  fake.change({ ...whole, metadata: { ...whole.metadata, managedFields: [{ manager: "x" }] } });
  return fake;
}

test("`status` reads only the object, and needs no right on Secrets", async (t) => {
  t.mock.method(Date, "now", () => Date.parse("2026-11-23T09:05:00Z"));
  const fake = cluster();
  const asked: string[] = [];
  const get = fake.get.bind(fake);
  fake.get = (path: string) => {
    asked.push(path);
    return get(path);
  };
  const { code, out } = await call(["status"], { cluster: fake });
  assert.equal(code, 0);
  assert.match(out, /^Reconciling: 60 of 100/);
  assert.match(out, / halted \(NodesFailed\) 5m ago$/m);
  assert.deepEqual(asked, ["/apis/globalpullsecret.io/v1alpha1/globalpullsecrets/cluster"]);
});

test("`status -o json` prints the object without managedFields", async () => {
  const { out } = await call(["status", "-o", "json"], { cluster: cluster() });
  const { status, metadata } = JSON.parse(out) as typeof whole;
  assert.deepEqual(status, whole.status);
  assert.equal(metadata.managedFields, undefined);
});

test("explains how to create the object if it does not exist", async () => {
  const { code, err } = await call(["status"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /^globalpullsecret\/cluster: not found; the controller creates it after 30 s; check that manifests\/crds is applied/,
  );
});

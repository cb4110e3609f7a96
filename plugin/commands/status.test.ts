import assert from "node:assert/strict";
import { test } from "node:test";
import { call, FakeCluster } from "../fake.fixture.ts";
import { object, rolling, whole, inForce } from "../object.fixture.ts";

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  fake.change({ ...whole, metadata: { ...whole.metadata, managedFields: [{ manager: "x" }] } });
  return fake;
}

test("`status` reads only the object, and needs no right on Secrets", async () => {
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

test("`status --watch` prints a line to a pipe for each change, until it is interrupted", async () => {
  const fake = new FakeCluster();
  fake.change(object({ status: { conditions: rolling } }));
  fake.later.push(object({ status: { conditions: inForce } }));
  const enough = new AbortController();
  const received = (line: string) => line.includes("Ready:") && enough.abort();
  const { code, out } = await call(["status", "-w"], {
    cluster: fake,
    received,
    signal: enough.signal,
  });
  assert.equal(code, 0);
  assert.equal(
    out,
    "-\tReconciling: 60 of 100 nodes have revision 8\n-\tReady: revision 7 is on every node\n",
  );
});

test("`status --watch` redraws on a terminal", async () => {
  const fake = cluster();
  const enough = new AbortController();
  const received = (line: string) => line.includes("Revision") && enough.abort();
  const terminal = { columns: 80, colour: true };
  const { out } = await call(["status", "-w"], {
    cluster: fake,
    terminal,
    received,
    signal: enough.signal,
  });
  assert.ok(
    out.startsWith("\u001b[H\u001b[J\u001b[33mReconciling"),
    JSON.stringify(out.slice(0, 40)),
  );
});

test("--watch and --output together are misuse", async () => {
  for (const name of ["status", "nodes"]) {
    const { code, err } = await call([name, "-w", "-o", "json"]);
    assert.deepEqual([code, err], [2, "--watch: shows text only; leave out --output\n"]);
  }
});

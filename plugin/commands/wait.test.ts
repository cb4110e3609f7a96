import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { additionalPath, call, FakeCluster, pullSecret, refusal } from "../fake.fixture.ts";
import { halted, inForce, object, rolling, source, conditionsOf } from "../object.fixture.ts";

const served = object({ status: { sources: [source("812")], conditions: inForce } });
const before = object({ status: { sources: [source("790")], conditions: inForce } });
const onItsWay = object({ status: { sources: [source("812", "790")], conditions: rolling } });
const failed = object({ status: { sources: [source("812", "790")], conditions: halted } });

const noSource = conditionsOf("nobody", "NoSource", "no source has credentials to apply");
const teamA = { sources: [{ name: "team-a", secretRef: { name: "team-a-pull" } }] };
const servedA = object({
  spec: teamA,
  status: { sources: [{ ...source("50"), name: "team-a" }], conditions: inForce },
});

function cluster(reported: GlobalPullSecret): FakeCluster {
  const fake = new FakeCluster();
  fake.objects.set(additionalPath, pullSecret({ "quay.io": "u:p" }));
  fake.change(reported);
  return fake;
}

test("returns at once when every node has the edit", async () => {
  assert.deepEqual(await call(["wait"], { cluster: cluster(served) }), {
    code: 0,
    out: "revision 7 is on every node\n",
    err: "",
  });
});

test("requests a Secret's metadata, and not its content", async () => {
  const fake = cluster(served);
  const get = fake.get.bind(fake);
  const asked: unknown[] = [];
  fake.get = async <T>(path: string, options?: object) => {
    if (path === additionalPath) asked.push(options);
    return await get<T>(path);
  };
  assert.equal((await call(["wait"], { cluster: fake })).code, 0);
  assert.deepEqual(asked, [{ as: "metadata" }]);
});

test("warns of a registry that denies its credential, although every node has it", async () => {
  const registries = [
    { registry: "a.io", source: "additional-pull-secret", verified: "Accepted" },
    { registry: "b.io", source: "additional-pull-secret", verified: "Denied" },
  ] as const;
  const denied = object({ status: { ...served.status, registries: [...registries] } });
  const { code, err } = await call(["wait"], { cluster: cluster(denied) });
  assert.equal(code, 0);
  assert.equal(err, "b.io: denies the credential; pulls will fail, also of public images\n");
});

test("does not accept Ready while Ready describes the previous version", async () => {
  const fake = cluster(before);
  fake.later.push(onItsWay, onItsWay, served);
  const { code, out, err } = await call(["wait"], { cluster: fake });
  assert.deepEqual([code, out], [0, "revision 7 is on every node\n"]);
  assert.deepEqual(err.trimEnd().split("\n"), [
    "additional-pull-secret: version 812 is not read by the controller yet",
    "additional-pull-secret: version 812 is being rolled out (nodes: no node is counted yet)",
  ]);
});

test("exits with 1 and prints the reason when a person has to act", async () => {
  const { code, err } = await call(["wait"], { cluster: cluster(failed) });
  assert.deepEqual([code, err], [1, "Halted: revision 8 failed on n7\n"]);
});

test("escapes control characters in the status on standard output and standard error", async () => {
  const forged = "\u001b[2Kof n7\nrevision 7 is on every node";
  const shown = "\\u{1b}[2Kof n7\\u{a}revision 7 is on every node";
  const sources = [source("812", "790")];
  const failing = object({
    status: { sources, conditions: conditionsOf("person", "Halted", forged) },
  });
  const { err } = await call(["wait", "--timeout", "2s"], { cluster: cluster(failing) });
  assert.equal(err, `Halted: ${shown}\n`);
  const conditions = conditionsOf("nobody", "InForce", forged);
  const well = object({ status: { sources: [source("812")], conditions } });
  const { out } = await call(["wait", "--timeout", "2s"], { cluster: cluster(well) });
  assert.equal(out, `${shown}\n`);
});

test("exits with 3 and the last state when the time is over", async () => {
  const { code, err } = await call(["wait", "--timeout", "1s"], { cluster: cluster(onItsWay) });
  assert.equal(code, 3);
  assert.match(
    err,
    /\nnot served yet: additional-pull-secret: version 812 is being rolled out .*\n$/,
  );
});

test("checks once with --timeout 0", async () => {
  for (const zero of ["0", "0s"]) {
    const { code, err } = await call(["wait", "--timeout", zero], { cluster: cluster(onItsWay) });
    assert.equal(code, 3, err);
    assert.match(err, /not served yet: additional-pull-secret: version 812 is being rolled out/);
  }
});

test("exits with 3 when interrupted", async () => {
  const enough = new AbortController();
  const received = () => enough.abort();
  const setting = { cluster: cluster(onItsWay), received, signal: enough.signal };
  assert.equal((await call(["wait"], setting)).code, 3);
});

test("if the caller is not allowed to get the Secret, waits only for Ready and reports this", async () => {
  const fake = cluster(before);
  fake.refusals.set(additionalPath, 403);
  const { code, err } = await call(["wait"], { cluster: fake });
  assert.equal(code, 0);
  assert.match(err, /^additional-pull-secret: no right to get the Secret; waiting for Ready .*\n$/);
});

/** Cases without a Secret: the object, the command line and the exit code. */
const absent: readonly (readonly [reported: GlobalPullSecret, argv: string, code: number])[] = [
  [object({ status: { conditions: noSource } }), "--deleted", 0],
  [object({ status: { conditions: inForce } }), "", 0],
  [object({ status: { conditions: inForce } }), "--source additional-pull-secret", 3],
  [object({ spec: teamA, status: { conditions: inForce } }), "", 3],
  [object({ spec: teamA, status: { conditions: inForce } }), "--source team-a --deleted", 0],
  [served, "--deleted", 3],
  [served, "", 3],
  [onItsWay, "", 3],
  [failed, "", 3],
  [servedA, "--deleted", 0],
  [servedA, "--source team-a", 3],
];

test("without a Secret, succeeds only if another source is in force, or with --deleted", async () => {
  const waits = absent.map(async ([reported, argv, expectedCode]) => {
    const fake = new FakeCluster();
    fake.change(reported);
    const words = `wait --timeout 1s ${argv}`.trim().split(" ");
    const { code, err } = await call(words, { cluster: fake });
    assert.equal(code, expectedCode, `${argv}: ${err}`);
  });
  await Promise.all(waits);
});

test("waits for a Secret that is created after the command began", async () => {
  const fake = new FakeCluster();
  fake.change(object({ status: { conditions: noSource } }));
  fake.later.push(onItsWay, served);
  const { code, err } = await call(["wait"], { cluster: fake });
  assert.equal(code, 0, err);
  assert.match(err, /^NoSource: .*\nadditional-pull-secret: version 812 is being rolled out /);
});

test("waits for one of spec.sources by its name", async () => {
  const fake = cluster(servedA);
  const path = additionalPath.replace("additional-pull-secret", "team-a-pull");
  fake.objects.set(path, pullSecret({ "a.io": "u:p" }, { resourceVersion: "50" }));
  assert.equal((await call(["wait", "--source", "team-a"], { cluster: fake })).code, 0);
  const { code, err } = await call(["wait", "--source", "team-b"], { cluster: fake });
  assert.deepEqual(
    [code, err],
    [2, "--source: no source of spec.sources has this name; give additional-pull-secret, team-a\n"],
  );
});

test("names the missing CRD", async () => {
  const fake = new FakeCluster();
  fake.missing = true;
  const { code, err } = await call(["wait"], { cluster: fake });
  assert.equal(code, 1);
  assert.match(err, /not served; .*manifests\/crds/);
});

test("continues after an answer that a later request can change, and stops after any other", async () => {
  for (const [status, code] of [
    [410, 0],
    [429, 0],
    [500, 0],
    [400, 1],
    [403, 1],
  ] as const) {
    const fake = cluster(served);
    const get = fake.get.bind(fake);
    let isFirst = true;
    fake.get = async <T>(path: string) => {
      if (!isFirst || !path.includes("?")) return await get<T>(path);
      isFirst = false;
      throw refusal(status, "GET", path);
    };
    assert.equal((await call(["wait"], { cluster: fake })).code, code, String(status));
  }
});

/** Checks `add` and `remove`, which share the code that rewrites a Secret. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { newborn } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret, refusal } from "../fake.fixture.ts";
import { object } from "../object.fixture.ts";

function clusterWith(secret: object | undefined): FakeCluster {
  const cluster = new FakeCluster();
  if (secret !== undefined) cluster.objects.set(additionalPath, secret);
  return cluster;
}

/** The document of the last write. */
function written({ writes }: FakeCluster): unknown {
  const body = writes.at(-1)?.body as { data: Record<string, string> };
  return JSON.parse(atob(body.data[".dockerconfigjson"] ?? ""));
}

const typeOf = (body: unknown) => (body as V1Secret | undefined)?.type;
const versionOf = (body: unknown) => (body as V1Secret | undefined)?.metadata?.resourceVersion;

const password = "pl4nted-s3cret";
const entry = { auth: btoa(`robot:${password}`) };
const login = ["-u", "robot", "--password-stdin"];
const add = (cluster: FakeCluster, registry: string, more: readonly string[] = []) =>
  call(["add", registry, ...login, ...more], { cluster, input: `${password}\n` });

test("creates the Secret with the right type for the first credential", async () => {
  const cluster = clusterWith(undefined);
  assert.deepEqual(await add(cluster, "quay.io"), {
    code: 0,
    out:
      'additional-pull-secret: "quay.io": credential added (registries: 1)\n' +
      "next: kubectl pull-secret wait\n",
    err: "",
  });
  const [write] = cluster.writes;
  assert.deepEqual([write?.verb, versionOf(write?.body)], ["apply", newborn]);
  assert.equal(typeOf(write?.body), "kubernetes.io/dockerconfigjson");
  assert.deepEqual(written(cluster), { auths: { "quay.io": entry } });
});

test("keeps the other credentials when it adds a credential", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p" }));
  assert.equal((await add(cluster, "quay.io")).code, 0);
  const [write] = cluster.writes;
  assert.equal(write?.verb, "apply");
  assert.equal(versionOf(write?.body), "812");
  assert.deepEqual(written(cluster), {
    auths: { "a.io": { auth: btoa("u:p") }, "quay.io": entry },
  });
});

test("keeps the other keys of the document when it adds or removes a credential", async () => {
  const others = { HttpHeaders: { "X-Team": "a" }, credHelpers: { "b.io": "helper" } };
  const document = (registries: object) => ({ ...others, auths: registries });
  const [first, second] = [{ "a.io": { auth: btoa("u:p") } }, { "quay.io": entry }];
  const before = pullSecret({});
  const edits = [
    {
      from: first,
      edit: (cluster: FakeCluster) => add(cluster, "quay.io"),
      to: { ...first, ...second },
    },
    {
      from: { ...first, ...second },
      edit: (cluster: FakeCluster) => call(["remove", "quay.io"], { cluster }),
      to: first,
    },
  ];
  for (const { from, edit, to } of edits) {
    const data = { ".dockerconfigjson": btoa(JSON.stringify(document(from))) };
    const cluster = clusterWith({ ...before, data });
    assert.equal((await edit(cluster)).code, 0);
    assert.deepEqual(written(cluster), document(to));
  }
});

test("treats two spellings of a registry as the same entry", async () => {
  const cluster = clusterWith(pullSecret({ "https://quay.io/v1/": "u:p" }));
  assert.equal((await add(cluster, "quay.io")).code, 0);
  assert.deepEqual(written(cluster), { auths: { "quay.io": entry } });
});

test("reports an immutable Secret, and writes nothing", async () => {
  const cluster = clusterWith({ ...pullSecret({ "a.io": "u:p" }), immutable: true });
  const { code, err } = await add(cluster, "quay.io");
  assert.deepEqual([code, cluster.writes.length], [1, 0]);
  assert.match(err, /^additional-pull-secret: is immutable; nothing is written: /);
  // An immutable Secret can still be deleted.
  assert.equal((await call(["remove", "a.io", "--yes"], { cluster })).code, 0);
  assert.deepEqual(
    cluster.writes.map(({ verb }) => verb),
    ["remove"],
  );
});

test("does not overwrite a change that another client makes between the read and the write", async () => {
  const cluster = clusterWith(pullSecret({}));
  let first = true;
  cluster.before = ({ verb, path }) => {
    if (!first) return;
    first = false;
    cluster.objects.set(path, pullSecret({ "b.io": "x:y" }));
    throw refusal(409, verb, path);
  };
  assert.equal((await add(cluster, "quay.io")).code, 0);
  assert.deepEqual(written(cluster), {
    auths: { "b.io": { auth: btoa("x:y") }, "quay.io": entry },
  });
});

const fieldsV1 = { "f:data": { "f:.dockerconfigjson": {} } };
const git = { managedFields: [{ manager: "argocd-controller", operation: "Apply", fieldsV1 }] };
test("takes the document over from a person with kubectl", async () => {
  for (const [manager, operation] of [
    ["kubectl-client-side-apply", "Update"],
    ["kubectl", "Apply"],
  ] as const) {
    const managedFields = [{ manager, operation, fieldsV1 }];
    const { code, err } = await add(clusterWith(pullSecret({}, { managedFields })), "quay.io");
    assert.deepEqual([code, err], [0, ""]);
  }
});

const secretOf = (document: string) => ({
  ...pullSecret({}),
  data: { ".dockerconfigjson": btoa(document) },
});

const refused: readonly (readonly [what: string, secret: object, said: RegExp])[] = [
  [
    "being deleted",
    pullSecret({}, { deletionTimestamp: "2026-11-29T00:00:00Z" }),
    /is being deleted; nothing is written/,
  ],
  [
    "of another type",
    { ...pullSecret({}), type: "Opaque" },
    /^GPS301 additional-pull-secret: type: type is Opaque; .* recreate the Secret/,
  ],
  [
    "declared by Git",
    pullSecret({}, git),
    /declared by "argocd-controller", which would revert the change/,
  ],
  ["not JSON", secretOf("junk"), /additional-pull-secret: .*not JSON/],
  ["a list", secretOf("[]"), /additional-pull-secret: auths: auths is missing/],
  ["without an object in auths", secretOf('{"auths":[]}'), /additional-pull-secret: auths: not an/],
  ["refused as a whole", pullSecret({ "c.io": "nocolon" }), /auths\["c\.io"\]\.auth: no colon/],
];
for (const [what, secret, said] of refused)
  test(`does not write a Secret that is ${what}`, async () => {
    const cluster = clusterWith(secret);
    const { code, out, err } = await add(cluster, "quay.io");
    assert.deepEqual([code, out, cluster.writes], [1, "", []]);
    assert.match(err, said);
  });

test("refuses an entry that no image can match, although the other entries are useful", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p" }));
  const { code, err } = await add(cluster, "Quay.io");
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /auths\["Quay\.io"\]: .*capitals in the host/);
});

test("writes nothing if the Secret has the credential already", async () => {
  const cluster = clusterWith(secretOf(JSON.stringify({ auths: { "quay.io": entry } })));
  const { out } = await add(cluster, "quay.io");
  assert.match(out, /^additional-pull-secret: "quay\.io": has this credential already \(.*: 1\)\n/);
  assert.deepEqual(cluster.writes, []);
});

test("`remove` does not delete a Secret that Git declares", async () => {
  const cluster = clusterWith(pullSecret({ "quay.io": "x:y" }, git));
  const { code, err } = await call(["remove", "quay.io", "--yes"], { cluster });
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /declared by "argocd-controller", which would revert the change/);
});

test("refuses a registry that the spec protects", async () => {
  const cluster = clusterWith(undefined);
  cluster.objects.set(globalPullSecretPath, object({ spec: { protectedRegistries: ["quay.io"] } }));
  const { code, err } = await add(cluster, "quay.io");
  assert.equal(code, 1);
  assert.match(err, /protected/);
  assert.deepEqual(cluster.writes, []);
});

test("edits a source of spec.sources that --source names", async () => {
  const cluster = clusterWith(undefined);
  const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
  cluster.objects.set(globalPullSecretPath, object({ spec: { sources } }));
  const { out } = await add(cluster, "quay.io", ["--source", "team-a"]);
  assert.match(out, /^team-a-pull: .*\nnext: kubectl pull-secret wait --source team-a\n$/);
});

test("never prints the password, in any form", async () => {
  for (const secret of [
    undefined,
    pullSecret({ "c.io": "nocolon" }),
    pullSecret({ "a.io": "u:p" }),
  ]) {
    const { out, err } = await add(clusterWith(secret), "quay.io");
    assert.ok(!`${out}${err}`.includes("s3cret") && !`${out}${err}`.includes(entry.auth));
  }
});

test("refuses as misuse an empty standard input instead of a password", async () => {
  const argv = ["add", "quay.io", "-u", "robot"];
  assert.match((await call(argv)).err, /^--password-stdin: is missing; /);
  const { code, err } = await call([...argv, "--password-stdin"], { input: "\n" });
  assert.deepEqual(
    [code, err],
    [2, "--password-stdin: standard input is empty; give a password\n"],
  );
});

const misnamed: readonly (readonly [what: string, username: string, said: RegExp])[] = [
  ["a colon", `team:${password}`, /^--username: .*colon/],
  ["bytes that are not UTF-8", `te\ufffdm`, /^--username: .*UTF-8/],
];
for (const [what, username, said] of misnamed)
  test(`refuses a user name with ${what}`, async () => {
    const cluster = clusterWith(undefined);
    const argv = ["add", "quay.io", "-u", username, "--password-stdin"];
    const { code, out, err } = await call(argv, { cluster, input: password });
    assert.deepEqual([code, out, cluster.writes], [2, "", []]);
    assert.match(err, said);
    assert.ok(!err.includes("s3cret"), err);
  });

test("refuses a typed password that is not UTF-8", async () => {
  const cluster = clusterWith(undefined);
  const askPassword = () => Promise.resolve("s3cr\ufffdt");
  const argv = ["add", "quay.io", "-u", "robot"];
  const { code, out, err } = await call(argv, { cluster, io: { askPassword } });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.equal(err, "password: is not UTF-8; type it in a terminal that uses UTF-8\n");
});

test("refuses as misuse a password that is not UTF-8", async () => {
  const cluster = clusterWith(undefined);
  const input = Buffer.from("s3cret-p\u00e4ss", "latin1");
  const { code, out, err } = await call(["add", "quay.io", ...login], { cluster, input });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.match(err, /^--password-stdin: is not UTF-8; [^\n]+\n$/);
  assert.ok(!err.includes("s3cret"), err);
});

test("reports that a password is too long, even if the limit cuts it in the middle of a character", async () => {
  const input = "\u00e4".repeat(300_000);
  const { code, err } = await call(["add", "quay.io", ...login], { input });
  assert.deepEqual([code, err], [2, "--password-stdin: longer than 512 KiB\n"]);
});

test("without --password-stdin, asks on the terminal for the password", async () => {
  for (const [answer, code] of [
    [password, 0],
    ["", 1],
    [undefined, 1],
  ] as const) {
    const cluster = clusterWith(undefined);
    const askPassword = () => Promise.resolve(answer);
    const argv = ["add", "quay.io", "-u", "robot"];
    const { out, err, ...ran } = await call(argv, { cluster, io: { askPassword } });
    assert.equal(ran.code, code);
    assert.ok(!`${out}${err}`.includes("s3cret"));
    if (code === 0) assert.deepEqual(written(cluster), { auths: { "quay.io": entry } });
    else assert.deepEqual([cluster.writes, err], [[], "no password; nothing is done\n"]);
  }
});

test("writes a password unchanged, even with a byte order mark", async () => {
  const cluster = clusterWith(undefined);
  const markedPassword = "\ufeffp\u00e4ss";
  assert.equal(
    (await call(["add", "quay.io", ...login], { cluster, input: markedPassword })).code,
    0,
  );
  const auth = Buffer.from(`robot:${markedPassword}`).toString("base64");
  assert.deepEqual(written(cluster), { auths: { "quay.io": { auth } } });
});

test("`remove` removes one entry, in any spelling", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p", "quay.io": "x:y" }));
  const { code, out } = await call(["remove", "https://quay.io/v2/"], { cluster });
  assert.equal(code, 0);
  assert.match(out, /credential removed \(registries: 1\)\nnext: kubectl pull-secret wait\n$/);
  assert.deepEqual(written(cluster), { auths: { "a.io": { auth: btoa("u:p") } } });
});

test("`remove` asks before it removes the last entry, and deletes the Secret only in the version that it read", async () => {
  const cluster = clusterWith(pullSecret({ "quay.io": "x:y" }));
  const alone = await call(["remove", "quay.io"], { cluster });
  assert.equal(alone.code, 2);
  assert.match(alone.err, /^--yes: is missing; it is needed if standard input is not a/);
  const asked: string[] = [];
  const confirm = (question: string) => Promise.resolve(asked.push(question) === 2);
  const no = await call(["remove", "quay.io"], { cluster, confirm });
  assert.deepEqual([no.code, no.out, no.err], [1, "", "nothing is done\n"]);
  assert.match(
    asked[0] ?? "",
    /^"quay\.io" is the last registry of additional-pull-secret\. Delete /,
  );
  assert.deepEqual(cluster.writes, []);
  const { code, out } = await call(["remove", "quay.io"], { cluster, confirm });
  assert.equal(code, 0);
  assert.match(out, /the Secret is deleted\)\nnext: kubectl pull-secret wait --deleted\n$/);
  const options = { uid: "u1", resourceVersion: "812" };
  assert.deepEqual(cluster.writes, [{ verb: "remove", path: additionalPath, options }]);
});

test("`remove` deletes no Secret whose entries the policy would keep on the nodes", async () => {
  const cluster = clusterWith(pullSecret({ "quay.io": "x:y" }));
  const spec = { withdrawal: { onDelete: "Keep" } } as const;
  cluster.objects.set(globalPullSecretPath, object({ spec }));
  const { code, err } = await call(["remove", "quay.io", "--yes"], { cluster });
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /^additional-pull-secret: .* Keep, so its last credential would stay/);
});

test("`remove --yes` removes the last entry without a question", async () => {
  const cluster = clusterWith(pullSecret({ "quay.io": "x:y" }));
  assert.equal((await call(["remove", "quay.io", "--yes"], { cluster })).code, 0);
  assert.equal(cluster.writes.length, 1);
});

/**
 * The entries that remain without quay.io, and the code of the reason why they are useless. The
 * code is undefined if an entry is useful, so that the Secret stays.
 */
const leftovers: readonly (readonly [left: object, code: string | undefined])[] = [
  [{ "Quay.io": { auth: btoa("c:1") } }, "capitals in the host"],
  [{ "ghcr.io": {} }, "has no credential for a node"],
  [{ "bad host": { auth: btoa("x:y") } }, "no image name can match this registry"],
  [{ "Quay.io": { auth: btoa("c:1") }, "a.io:0": { auth: btoa("x:y") } }, "the port is not"],
  [{ "a.io": { auth: btoa("u:p") }, "ghcr.io": {} }, undefined],
];
for (const [leftoverAuths, why] of leftovers)
  test(`\`remove\` deletes a Secret only if no useful entry is left: ${Object.keys(leftoverAuths).join()}`, async () => {
    const auths = { "quay.io": { auth: btoa("leaked:1") }, ...leftoverAuths };
    const data = { ".dockerconfigjson": btoa(JSON.stringify({ auths })) };
    const cluster = clusterWith({ ...pullSecret({}), data });
    const asked: string[] = [];
    const confirm = (question: string) => Promise.resolve(asked.push(question) > 0);
    const { code, err } = await call(["remove", "quay.io"], { cluster, confirm });
    assert.equal(code, 0, err);
    const verbs = cluster.writes.map(({ verb }) => verb);
    assert.deepEqual(verbs, [why === undefined ? "apply" : "remove"]);
    assert.equal(asked.length, why === undefined ? 0 : 1);
    if (why === undefined) return;
    assert.ok(err.includes(why), err);
    assert.match(
      asked[0] ?? "",
      /^"quay\.io" is the last usable registry in additional-pull-secret/,
    );
  });

/** The entries that remain beside a broken one: none, a useful one, and useless ones. */
for (const others of [
  {},
  { "b.io": { auth: btoa("u:p") } },
  { "Quay.io": { auth: btoa("c:1") } },
  { "ghcr.io": {} },
  { "a.io:0": { auth: btoa("x:y") }, "ghcr.io": {} },
])
  test(`\`remove\` does not change a Secret that has a broken entry beside ${JSON.stringify(others)}`, async () => {
    const auths = { "quay.io": { auth: btoa("x:y") }, ...others, "a.io": { auth: "%" } };
    const data = { ".dockerconfigjson": btoa(JSON.stringify({ auths })) };
    const cluster = clusterWith({ ...pullSecret({}), data });
    const { code, err } = await call(["remove", "quay.io", "--yes"], { cluster });
    assert.deepEqual([code, cluster.writes], [1, []]);
    assert.match(err, /"a\.io".*not base64/);
  });

test("`remove` writes nothing if the entry does not exist", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p" }));
  const { code, err } = await call(["remove", "quay.io"], { cluster });
  assert.deepEqual(
    [code, err, cluster.writes],
    [1, 'additional-pull-secret: has no entry for "quay.io"; nothing is written\n', []],
  );
});

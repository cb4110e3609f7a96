import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test as nodeTest } from "node:test";
import { load } from "js-yaml";
import { file, folder, runHere } from "../cases.fixture.ts";
import { profileOf, profilePath } from "../clusters/profile.ts";
import { FakeCluster } from "../fake.fixture.ts";
import { east, west } from "../seal/seal.fixture.ts";
import type { Reach } from "../terminal/io.ts";

const password = "pl4nted-s3cret";
const encoded = Buffer.from(`robot:${password}`).toString("base64");
const good = file("sealable.json", JSON.stringify({ auths: { "a.io": { auth: encoded } } }));
file("east.pem", east);
file("west.pem", west);

const sealed = join(folder, "sealed");

/**
 * Declares a test that first deletes the directory. A beforeEach hook would also run before the
 * tests of other files.
 */
function test(name: string, run: () => Promise<void>): void {
  nodeTest(name, async () => {
    rmSync(sealed, { recursive: true, force: true });
    await run();
  });
}

/**
 * Runs a command line, and checks that its output and the written files do not contain the planted
 * password.
 */
async function call(line: string) {
  const result = await runHere(line.split(" "));
  const files = existsSync(sealed)
    ? readdirSync(sealed).map((name) => readFileSync(join(sealed, name), "utf8"))
    : [];
  for (const text of [result.out, result.err, ...files])
    for (const secret of [password, encoded, Buffer.from(encoded).toString("base64")])
      assert.ok(!text.includes(secret), line);
  return result;
}

const seal = (rest: string) => call(`seal -f ${good} -o sealed ${rest}`);
const both = "--cert east=east.pem --cert west=west.pem";
const index = () =>
  JSON.parse(readFileSync(join(sealed, "index.json"), "utf8")) as {
    clusters: Record<string, { fingerprint: string }>;
  };

test("M9: writes a separate file for each cluster, and nothing secret into any file", async () => {
  const { code, out, err } = await seal(both);
  assert.deepEqual([code, out, err], [0, "sealed: sealed for east, west\n", ""]);
  assert.deepEqual(readdirSync(sealed).toSorted(), ["east.yaml", "index.json", "west.yaml"]);
  assert.match(
    readFileSync(join(sealed, "east.yaml"), "utf8"),
    /^apiVersion: bitnami\.com\/v1alpha1\nkind: SealedSecret\nmetadata:\n {2}name: additional-pull-secret\n {2}namespace: kube-system\nspec:\n {2}encryptedData:\n {4}\.dockerconfigjson: AQ[\w+/]+=*\n {2}template:\n {4}metadata:\n {6}name: additional-pull-secret\n {6}namespace: kube-system\n {4}type: kubernetes\.io\/dockerconfigjson\n$/,
  );
});

test("M9: stores no digest of the content in the index", async () => {
  await seal(both);
  const { clusters, ...rest } = index();
  const its = { namespace: "kube-system", name: "additional-pull-secret" };
  assert.deepEqual(rest, { version: 1, ...its });
  for (const [name, pem] of Object.entries({ east, west })) {
    const { fingerprint256, validTo } = new X509Certificate(pem);
    const fingerprint = fingerprint256.replaceAll(":", "").toLowerCase();
    const until = new Date(validTo).toISOString();
    assert.deepEqual(clusters[name], { fingerprint, until });
  }
  assert.deepEqual(Object.keys(clusters), ["east", "west"]);
});

test("never seals a pull secret that the controller would refuse", async () => {
  const bad = file("unsealable.json", JSON.stringify({ auths: { "a.io": { auth: password } } }));
  const { code, err } = await call(`seal -f ${bad} -o sealed ${both}`);
  assert.equal(code, 1);
  assert.match(err, /^GPS115 additional: auths\["a\.io"\]\.auth: not base64; /);
  assert.ok(!existsSync(sealed));
});

test("does not change the files of other clusters when a cluster is added, and names them", async () => {
  await seal("--cert east=east.pem");
  const before = readFileSync(join(sealed, "east.yaml"), "utf8");
  const { err } = await seal("--cert west=west.pem");
  assert.match(err, /^not sealed again: east$/m);
  assert.equal(readFileSync(join(sealed, "east.yaml"), "utf8"), before);
  assert.deepEqual(Object.keys(index().clusters), ["east", "west"]);
});

test("when a cluster's certificate has changed, writes nothing until --renewed confirms the change", async () => {
  await seal(both);
  const [eastEntry, other] = [index().clusters["east"], index().clusters["west"]];
  const before = readFileSync(join(sealed, "west.yaml"), "utf8");
  const { code, err } = await seal("--cert east=west.pem --cert west=west.pem");
  assert.equal(code, 1);
  const [line = ""] = err.split("\n");
  assert.ok(line.startsWith(`east: has another certificate, ${other?.fingerprint} until `));
  assert.ok(line.includes(` ${eastEntry?.fingerprint} until `) && line.endsWith("--renewed east"));
  assert.equal(readFileSync(join(sealed, "west.yaml"), "utf8"), before);
  assert.equal((await seal("--cert east=west.pem --renewed east")).code, 0);
  assert.equal(index().clusters["east"]?.fingerprint, other?.fingerprint);
});

test("refuses a folder of another Secret", async () => {
  await seal("--cert east=east.pem");
  const { code, err } = await seal("--cert east=east.pem --secret team-pull-secret");
  assert.equal(code, 1);
  assert.match(err, /^sealed: holds kube-system\/additional-pull-secret; give /);
});

test("never replaces a file that it did not write", async () => {
  await seal("--cert west=west.pem");
  const refused = [1, "sealed/east.yaml: is not a sealed file; give another directory\n"];
  mkdirSync(join(sealed, "east.yaml"));
  const { code, err } = await runHere(`seal -f ${good} -o sealed ${both}`.split(" "));
  assert.deepEqual([code, err], refused);
  rmSync(join(sealed, "east.yaml"), { recursive: true });
  writeFileSync(join(sealed, "east.yaml"), "kind: ConfigMap\n");
  const second = await seal(both);
  assert.deepEqual([second.code, second.err], refused);
  assert.equal(readFileSync(join(sealed, "east.yaml"), "utf8"), "kind: ConfigMap\n");
  assert.deepEqual(Object.keys(index().clusters), ["west"]);
});

test("when a cluster's file was deleted and the command line does not name the cluster, forgets the cluster", async () => {
  await seal(both);
  rmSync(join(sealed, "west.yaml"));
  const { code, err } = await seal("--cert east=east.pem --cert west=east.pem");
  assert.deepEqual([code, err.startsWith("west: has another certificate")], [1, true]);
  await seal("--cert east=east.pem");
  assert.deepEqual(Object.keys(index().clusters), ["east"]);
});

test("does not follow a symbolic link in the folder, and escapes names from the folder on the terminal", async () => {
  await seal("--cert west=west.pem");
  const victim = join(folder, "victim");
  writeFileSync(victim, "mine");
  const sealedForWest = readFileSync(join(sealed, "west.yaml"), "utf8");
  for (const [name, text] of [
    ["east.yaml", sealedForWest],
    [`east.yaml.${process.pid}.tmp`, "mine"],
  ] as const) {
    writeFileSync(victim, text);
    symlinkSync(victim, join(sealed, name));
    // Runs in this process, whose id is in the name of the temporary file.
    const { code } = await runHere(`seal -f ${good} -o sealed --cert east=east.pem`.split(" "));
    assert.deepEqual([code, readFileSync(victim, "utf8")], [2, text]);
    rmSync(join(sealed, name));
  }
  assert.equal((await seal("--cert east=east.pem")).code, 0);
  const text = readFileSync(join(sealed, "index.json"), "utf8");
  writeFileSync(join(sealed, "index.json"), text.replaceAll(/"until": "/g, '"until": "\\u001b[2J'));
  const changed = await seal("--cert east=west.pem");
  assert.equal(changed.code, 1);
  assert.ok(!changed.err.includes("\u001b"));
});

/** The longest name of a Secret. */
const longest = Array<string>(4).fill("a".repeat(63)).join(".").slice(2);

test("accepts a Secret of any namespace, and writes its name and namespace as strings into the YAML", async () => {
  for (const secret of [`web/${longest}`, "web/regcred", "123/1e5", "no/true", "null/0x1f"]) {
    rmSync(sealed, { recursive: true, force: true });
    assert.equal((await seal(`--cert east=east.pem --secret ${secret}`)).code, 0);
    const [namespace, name] = secret.split("/");
    const manifest = load(readFileSync(join(sealed, "east.yaml"), "utf8")) as {
      metadata: object;
      spec: { template: { metadata: object } };
    };
    assert.deepEqual(manifest.metadata, { name, namespace });
    assert.deepEqual(manifest.spec.template.metadata, { name, namespace });
    const other = await seal("--cert east=east.pem");
    assert.equal(other.code, 1, "this directory is for another Secret");
    assert.match(other.err, /^sealed: holds .*; give the same --secret/);
  }
});

test("stops before it writes if the index is damaged", async () => {
  await seal("--cert east=east.pem");
  const { clusters, ...rest } = index();
  const damaged = [
    ...["version", "namespace", "name"].map((field) => ({ [field]: 0 })),
    ...["fingerprint", "until"].map((field) => ({
      clusters: { east: { ...clusters["east"], [field]: 0 } },
    })),
    ...[0, { east: 0 }].map((value) => ({ clusters: value })),
  ].map((fields) => JSON.stringify({ clusters, ...rest, ...fields }));
  for (const text of ["", "[]", ...damaged]) {
    writeFileSync(join(sealed, "index.json"), text);
    const { code, err } = await seal(both);
    assert.equal(code, 1, text);
    assert.match(err, /is not an index of sealed files; give another directory\n$/);
    assert.deepEqual(readdirSync(sealed).toSorted(), ["east.yaml", "index.json"]);
  }
});

const wrong: readonly (readonly [line: string, err: RegExp])[] = [
  [`-f ${good} -o sealed --cert ../east=east.pem`, /^--cert .*: is not CLUSTER=FILE /],
  [`-f ${good} -o sealed --cert east=`, /^--cert "east=": is not CLUSTER=FILE /],
  [`-f ${good} -o sealed --cert east`, /^--cert "east": is not CLUSTER=FILE /],
  [`-f ${good} -o sealed --cert east=nowhere.pem`, /^nowhere\.pem: no such file; /],
  [`-f ${good} -o sealed ${both} --cert east=west.pem`, /^--cert east: given 2 times\n$/],
  [`-f ${good} -o ${good} ${both}`, /cannot be used \((?:ENOTDIR|EEXIST)\); give another/],
  [`-f ${good} -o sealed ${both} --secret a/b/c`, /is not NAME or NAMESPACE\/NAME of a Secret /],
  [`-f ${good} -o sealed ${both} --secret A/b`, /is not NAME or NAMESPACE\/NAME of a Secret /],
  [`-f ${good} -o sealed ${both} --secret /b`, /is not NAME or NAMESPACE\/NAME of a Secret /],
  [`-f ${good} -o sealed ${both} --secret a.B`, /is not NAME or NAMESPACE\/NAME of a Secret /],
  [`-f ${good} -o sealed ${both} --secret a${longest}`, /is not NAME or NAMESPACE\/NAME of a /],
  [`-f ${good} ${both}`, /^--output-directory: is missing; /],
  [`-o sealed ${both}`, /^--file: is missing; /],
  [`-f ${good} -o sealed`, /^--cert: is missing; /],
];
for (const [line, expected] of wrong)
  test(`treats \`seal ${line}\` as misuse, and writes nothing`, async () => {
    const { code, err } = await call(`seal ${line}`);
    assert.equal(code, 2, err);
    assert.match(err, expected);
    assert.ok(!existsSync(sealed));
  });

test("fetches the certificates of joined clusters, and reports clusters that have none", async () => {
  const [host, elsewhere] = [new FakeCluster(), new FakeCluster()];
  for (const cluster of [host, elsewhere])
    cluster.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: "id" } });
  for (const name of ["west", "east"])
    host.objects.set(profilePath(name), profileOf(name, "id", { context: name }));
  const services = "/api/v1/namespaces/kube-system/services";
  const controller = "sealed-secrets-controller";
  host.objects.set(`${services}/${controller}`, { spec: { ports: [{ name: "web", port: 80 }] } });
  host.objects.set(`${services}/http:${controller}:web/proxy/v1/cert.pem`, Object(east));
  const io = {
    contexts: async () => ["east", "west"],
    reach: async ({ context }: Reach) => (context === "west" ? elsewhere : host),
  };
  const none =
    `--cluster west: service/${controller} in kube-system: not found; install Sealed Secrets there, or ` +
    "give --controller-namespace and --controller-name\n";
  const shared =
    "warning: north, east: have the same certificate, so each can open the other's file; " +
    "unless they share a key on purpose, give each its own certificate\n";
  const sealing = `seal -f ${good} -o sealed --cluster east`;
  for (const [line, expected] of [
    [`${sealing} --cluster west`, [1, "", none]],
    [`${sealing} --cert east=east.pem`, [2, "", "--cluster east: is given by --cert already\n"]],
    [`${sealing} --cert north=east.pem`, [0, "sealed: sealed for north, east\n", shared]],
  ] as const) {
    const { code, out, err } = await runHere(line.split(" "), "", io);
    assert.deepEqual([code, out, err], expected);
  }
});

/** A typical secret.yaml. */
const secretYaml = file(
  "secret.yaml",
  `apiVersion: v1
kind: Secret
metadata:
  name: credentials
  namespace: web
  labels: { app: shop }
type: Opaque
data:
  USER_NAME: ${Buffer.from("robot").toString("base64")}
stringData:
  PASSWORD: ${password}
`,
);

test("M8: seals the manifest of any Secret for each cluster", async () => {
  const { code, err } = await call(`seal -f ${secretYaml} -o sealed ${both}`);
  assert.deepEqual([code, err], [0, ""]);
  const text = readFileSync(join(sealed, "west.yaml"), "utf8");
  assert.partialDeepStrictEqual(load(text), {
    kind: "SealedSecret",
    metadata: { name: "credentials", namespace: "web" },
  });
  assert.match(text, /^ {4}PASSWORD: AQ/m);
});

test("M8: checks a pull secret's manifest by the rules for its document", async () => {
  const document = JSON.stringify({ auths: { "a.io": { auth: password } } });
  const bad = file(
    "bad-manifest.json",
    JSON.stringify({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a", namespace: "b" },
      type: "kubernetes.io/dockerconfigjson",
      stringData: { ".dockerconfigjson": document },
    }),
  );
  const { code, err } = await call(`seal -f ${bad} -o sealed ${both}`);
  assert.equal(code, 1);
  assert.match(err, /auths\["a\.io"\]\.auth: not base64/);
});

const unsealable: readonly (readonly [what: string, manifest: object, wanted: RegExp])[] = [
  ["without a namespace", { metadata: { name: "a" } }, /^metadata: name and namespace are needed/],
  ["of another kind", { kind: "ConfigMap" }, /^the manifest is not a Secret/],
  ["of another version", { apiVersion: "v2" }, /^the manifest is not a Secret/],
  ["beside another one", { items: [{ kind: "Secret" }, {}] }, /^the file has several documents/],
  ["whose type is a number", { type: 1 }, /^type: is not text/],
  ["with a value that is not base64", { data: { a: password } }, /^data\["a"\]: is not base64/],
  ["with a number", { stringData: { a: 1 } }, /^stringData\["a"\]: is not text/],
  ["with an invalid key", { stringData: { "a/b": "1" } }, /^"a\/b": is not a valid key/],
  ["without data", { data: {} }, /^data: is empty/],
];
for (const [what, more, message] of unsealable)
  test(`refuses a manifest ${what}, and prints none of its values`, async () => {
    const manifest = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a", namespace: "b" },
      ...more,
    };
    const path = file(`${what.replaceAll(" ", "-")}.json`, JSON.stringify(manifest));
    const { code, err } = await call(`seal -f ${path} -o sealed ${both}`);
    assert.equal(code, 1);
    assert.match(err, message);
  });

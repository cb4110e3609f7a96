import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { newborn } from "#kube/client/cluster.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { loadDocuments } from "#kube/yaml.ts";
import { additionalPath, call, FakeCluster, pullSecret, refusal } from "../fake.fixture.ts";
import { inForce, object, source } from "../object.fixture.ts";

const password = "pl4nted-s3cret";

/** A cluster with this Secret, whose nodes have every version of it. */
function clusterWith(secret: object | undefined): FakeCluster {
  const cluster = new FakeCluster();
  if (secret !== undefined) cluster.objects.set(additionalPath, secret);
  cluster.change(object({ status: { sources: [source("812")], conditions: inForce } }));
  return cluster;
}

const documentOf = (entries: Record<string, string>): string =>
  atob(pullSecret(entries).data?.[".dockerconfigjson"] ?? "");

const io = { documents: async (text: string) => loadDocuments(text) };
const apply = (cluster: FakeCluster, input: string, ...more: readonly string[]) =>
  call(["apply", "-f", "-", ...more], { cluster, input, io });

test("shows the difference, writes the whole document, and waits until the nodes have it", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p", "b.io": "u:p", "c.io": "u:p" }));
  const input = documentOf({ "a.io": "u:p", "https://b.io/v1/": `u:${password}`, "d.io": "u:p" });
  const { code, out, err } = await apply(cluster, input, "--yes");
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(
    out,
    "  added    d.io\n  changed  b.io\n  removed  c.io\n" +
      "additional-pull-secret: applied (registries: 3)\nrevision 7 is on every node\n",
  );
  const [{ body, options } = {}] = cluster.writes;
  assert.deepEqual(body, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "additional-pull-secret",
      namespace: "kube-system",
      uid: "u1",
      resourceVersion: "812",
    },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": btoa(input) },
  });
  assert.deepEqual(options, { manager: "kubectl-pull-secret", force: true, dryRun: false });
});

test("creates the Secret only if no other client has created it", async () => {
  const cluster = clusterWith(undefined);
  const { code } = await apply(cluster, documentOf({ "a.io": "u:p" }), "--wait=false");
  const [{ body } = {}] = cluster.writes;
  assert.deepEqual([code, (body as V1Secret).metadata?.resourceVersion], [0, newborn]);
});

test("writes nothing if the document is the same, and still waits", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p", "b.io": "u:p" }));
  const { code, out } = await apply(cluster, documentOf({ "a.io": "u:p", "b.io": "u:p" }));
  assert.deepEqual([code, cluster.writes], [0, []]);
  assert.match(out, /^additional-pull-secret: unchanged \(registries: 2\)\nrevision 7 /);
});

test("writes another spelling of a registry, because the kubelet can use it in another order", async () => {
  const cluster = clusterWith(pullSecret({ "https://index.docker.io/v1/": "u:p" }));
  const { out } = await apply(cluster, documentOf({ "docker.io": "u:p" }), "--wait=false");
  assert.equal(out, "additional-pull-secret: applied (registries: 1)\n");
  assert.equal(cluster.writes.length, 1);
});

test("asks before it removes a registry, and writes nothing without an agreement", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p", "b.io": "u:p" }));
  const input = documentOf({ "a.io": "u:p" });
  const alone = await apply(cluster, input);
  assert.equal(alone.code, 2);
  assert.match(alone.err, /^--yes: is missing; /);
  const asked: string[] = [];
  const confirm = (question: string) => Promise.resolve(asked.push(question) === 0);
  const { code, err } = await call(["apply", "-f", "-"], { cluster, input, io, confirm });
  assert.deepEqual([code, err, cluster.writes], [1, "nothing is done\n", []]);
  assert.match(asked[0] ?? "", /^Remove 1 registry \(b\.io\) from every node of fake\?$/);
});

test("names at most five of the registries that it asks about", async () => {
  const hosts = "abcdef".split("").map((letter) => `${letter}.io`);
  const cluster = clusterWith(pullSecret(Object.fromEntries(hosts.map((host) => [host, "u:p"]))));
  for (const [kept, question] of [
    ["f.io", "Remove 5 registries (a.io, b.io, c.io, d.io, e.io) from every node of fake?"],
    ["g.io", "Remove 6 registries (a.io, b.io, c.io, d.io, e.io, …) from every node of fake?"],
  ] as const) {
    const asked: string[] = [];
    const confirm = (text: string) => Promise.resolve(asked.push(text) === 0);
    await call(["apply", "-f", "-"], {
      cluster,
      input: documentOf({ [kept]: "u:p" }),
      io,
      confirm,
    });
    assert.deepEqual(asked, [question]);
  }
});

test("asks before it replaces a refused document, because it cannot tell what is removed", async () => {
  const broken = { ...pullSecret({}), data: { ".dockerconfigjson": btoa("junk") } };
  const cluster = clusterWith(broken);
  const input = documentOf({ "a.io": "u:p" });
  assert.deepEqual([(await apply(cluster, input)).code, cluster.writes.length], [2, 0]);
  const { code, out, err } = await apply(cluster, input, "--yes", "--wait=false");
  assert.equal(code, 0);
  assert.match(err, /^additional-pull-secret: its present document is refused, so every registry /);
  assert.match(out, /^ {2}added {2}a\.io\n/);
});

const manifest = (fields: object): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "additional-pull-secret" },
    stringData: { ".dockerconfigjson": documentOf({ "a.io": "u:p" }) },
    ...fields,
  });

test("takes the document of a manifest of the source's Secret", async () => {
  const cluster = clusterWith(undefined);
  // As in the API server, stringData overwrites data.
  const data = { ".dockerconfigjson": btoa("junk") };
  const { code, err } = await apply(cluster, manifest({ data }), "--wait=false");
  assert.deepEqual([code, cluster.writes.length], [0, 1], err);
});

const git = {
  managedFields: [
    {
      manager: "argocd-controller",
      operation: "Update",
      fieldsV1: { "f:data": { "f:.dockerconfigjson": {} } },
    },
  ],
};
const good = documentOf({ "quay.io": "u:p" });
const expired = documentOf({
  "1.dkr.ecr.eu-west-1.amazonaws.com": `AWS:${btoa('{"payload":"x","expiration":1600000000}')}`,
});
const deletionTimestamp = "2026-11-29T00:00:00Z";

/** What is refused: the live Secret, the file and the first line of the error. */
const refused: readonly (readonly [
  what: string,
  live: object | undefined,
  input: string,
  code: 1 | 2,
  said: RegExp,
])[] = [
  ["an empty file", undefined, "", 1, /^GPS103 -: .*not JSON/],
  ["no registries", pullSecret({ "a.io": "u:p" }), '{"auths":{}}', 1, /^GPS174 .*no registries/],
  ["a broken entry", undefined, '{"auths":{"a.io":{"auth":"%"}}}', 1, /^GPS115 -: auths/],
  ["an expired credential", undefined, expired, 1, /^GPS178 -: auths/],
  ["an Opaque Secret", undefined, manifest({ type: "Opaque" }), 1, /^GPS301 -: Secret\/addi/],
  ["another name", undefined, manifest({ metadata: { name: "x" } }), 1, /^GPS180 -: Secret\/x: /],
  [
    "another namespace",
    undefined,
    manifest({ metadata: { name: "additional-pull-secret", namespace: "default" } }),
    1,
    /^GPS180 .*: metadata: is not kube-system\/additional-pull-secret, which the controller reads/,
  ],
  ["an ExternalSecret", undefined, manifest({ kind: "ExternalSecret" }), 1, /^GPS135 /],
  ["a live Secret of another type", { ...pullSecret({}), type: "Opaque" }, good, 1, /^GPS301 addi/],
  ["an immutable Secret", { ...pullSecret({}), immutable: true }, good, 1, /is immutable; /],
  [
    "a Secret of Argo CD",
    pullSecret({}, git),
    good,
    1,
    /declared by "argocd-controller".*conflicts/,
  ],
  ["a Secret that is being deleted", pullSecret({}, { deletionTimestamp }), good, 1, /deleted; /],
];
for (const [what, live, input, expectedCode, said] of refused)
  test(`refuses ${what}, and writes nothing`, async () => {
    const cluster = clusterWith(live);
    const { code, out, err } = await apply(cluster, input);
    assert.deepEqual([code, out, cluster.writes], [expectedCode, "", []], err);
    assert.match(err, said);
  });

test("refuses a registry that the spec protects", async () => {
  const cluster = clusterWith(undefined);
  cluster.objects.set(globalPullSecretPath, object({ spec: { protectedRegistries: ["quay.io"] } }));
  const { code, err } = await apply(cluster, good);
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /protected/);
});

test("takes the document over from a tool with --force-conflicts", async () => {
  const cluster = clusterWith(pullSecret({}, git));
  const { code, err } = await apply(cluster, good, "--force-conflicts");
  assert.deepEqual([code, cluster.writes.length], [0, 1], err);
});

test("does not overwrite what another client wrote after the difference was shown", async () => {
  const cluster = clusterWith(pullSecret({ "a.io": "u:p" }));
  cluster.before = ({ verb, path }) => {
    throw refusal(409, verb, path);
  };
  const { code, err } = await apply(cluster, documentOf({ "a.io": "u:q" }));
  assert.deepEqual([code, cluster.writes], [1, []]);
  assert.match(err, /^additional-pull-secret: another client has changed it .* run this again\n$/);
});

test("with --dry-run, shows the difference and changes nothing", async () => {
  const live = pullSecret({ "a.io": "u:p", "b.io": "u:p" });
  for (const [mode, writes] of [
    ["client", []],
    ["server", [true]],
  ] as const) {
    const cluster = clusterWith(live);
    const { code, out } = await apply(cluster, documentOf({ "a.io": "u:q" }), `--dry-run=${mode}`);
    assert.equal(code, 0);
    assert.equal(
      out,
      "  changed  a.io\n  removed  b.io\n" +
        `additional-pull-secret: applied (registries: 1, ${mode} dry run)\n`,
    );
    const dryRuns = cluster.writes.map(({ options }) => (options as { dryRun: boolean }).dryRun);
    assert.deepEqual(dryRuns, writes);
  }
});

test("replaces the Secret of a source that --source names", async () => {
  const cluster = clusterWith(undefined);
  const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
  cluster.objects.set(globalPullSecretPath, object({ spec: { sources } }));
  const { out } = await apply(cluster, good, "--source", "team-a", "--wait=false");
  assert.match(out, /\nteam-a-pull: applied \(registries: 1\)\n$/);
  assert.equal(
    cluster.writes[0]?.path,
    additionalPath.replace("additional-pull-secret", "team-a-pull"),
  );
});

test("reports that no controller is installed, after it has written the Secret", async () => {
  const cluster = new FakeCluster();
  cluster.missing = true;
  const { code, out, err } = await apply(cluster, good);
  assert.deepEqual([code, cluster.writes.length], [1, 1]);
  assert.match(out, /applied/);
  assert.match(err, /not served; .*manifests\/crds/);
});

test("exits with 1 while the object is withdrawn, and with 3 when the time is over", async () => {
  const withdrawn = clusterWith(undefined);
  withdrawn.change(object({ spec: { managementState: "Withdrawn" }, status: {} }));
  const { code, err } = await apply(withdrawn, good);
  assert.equal(code, 1);
  assert.match(err, /it is withdrawn/);
  const waiting = clusterWith(pullSecret({ "a.io": "u:p" }, { resourceVersion: "900" }));
  const late = await apply(waiting, good, "--yes", "--timeout", "1s");
  assert.equal(late.code, 3, late.err);
});

test("reports a missing right, and never prints a credential", async () => {
  const cluster = clusterWith(undefined);
  cluster.refusals.set(additionalPath, 403);
  const { code, out, err } = await apply(cluster, documentOf({ "a.io": `u:${password}` }));
  assert.equal(code, 1);
  assert.match(err, /403 Refused; ask for that right\n$/);
  const bare = await apply(clusterWith(undefined), `{"auths":{"u:${password}@a.io":{"auth":"%"}}}`);
  for (const text of [out, err, bare.out, bare.err]) assert.ok(!text.includes(password), text);
});

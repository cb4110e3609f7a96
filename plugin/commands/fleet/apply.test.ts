/** Checks what `fleet apply` and `fleet delete` print. One fake is the host and each cluster. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadDocuments } from "#kube/yaml.ts";
import { profileOf, profilePath } from "#plugin/clusters/profile.ts";
import { call, FakeCluster, refusal } from "#plugin/fake.fixture.ts";
import { readBounded, type Reach } from "#plugin/terminal/io.ts";
import { temporary } from "#test/temporary.ts";

const space = { apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } };
const deploymentPath = "/apis/apps/v1/namespaces/default/deployments/web";
const files: Readonly<Record<string, string>> = {
  "a.yml": `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: login, namespace: web}, type: Opaque}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`,
  "b.json": JSON.stringify(space),
  "c.yaml": "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: one, namespace: web}\n",
  "notes.txt": "no manifest",
};
const resource = (name: string, kind: string, namespaced = true) => ({ name, kind, namespaced });

/** A host with four joined clusters, of which `far` has another id, and one of another manager. */
function rig(t: Parameters<typeof temporary>[0]) {
  const folder = temporary(t);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const cluster = new FakeCluster();
  cluster.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: "id" } });
  const core = [resource("namespaces", "Namespace", false), resource("secrets", "Secret")];
  cluster.objects.set("/api/v1", { resources: core });
  const apps = ["deployments/status", "deployments"].map((name) => resource(name, "Deployment"));
  cluster.objects.set("/apis/apps/v1", { resources: apps });
  for (const name of ["west", "far", "east", "north", "theirs"]) {
    const id = name === "far" ? "another" : "id";
    const profile = profileOf(name, id, { context: `admin@${name}` });
    const clusterManager = { name: name === "theirs" ? "x" : profile.spec.clusterManager.name };
    cluster.objects.set(profilePath(name), { ...profile, spec: { clusterManager } });
  }
  const reached: (string | undefined)[] = [];
  const io = {
    read: readBounded,
    documents: async (text: string) => loadDocuments(text),
    contexts: async () => ["east", "admin@east", "admin@west", "far"],
    reach: async ({ context }: Reach) => {
      reached.push(context);
      return cluster;
    },
  };
  const run = async (line: string) => {
    const words = line.split(" ").map((word) => word.replace("work", folder));
    const { code, out, err } = await call(["fleet", ...words], { cluster, io });
    const lines = out.trimEnd().split("\n");
    return { code, err, lines: lines.map((row) => row.trim().replaceAll(/ +/g, " ")) };
  };
  return { cluster, reached, run };
}

const notServed = "example.com/v1 Widget: is not served; apply its CRD first";
const head = "CLUSTER NAMESPACE OBJECT STATE";

test("applies each manifest in each cluster, and reports which clusters it could not reach", async (t) => {
  const { cluster, reached, run } = rig(t);
  cluster.objects.set("/api/v1/namespaces/web", { metadata: { resourceVersion: "7" } });
  cluster.objects.set(deploymentPath, { metadata: {} });
  cluster.before = ({ path, verb }) => {
    if (path.endsWith("secrets/login")) throw refusal(403, verb, path);
  };
  const { code, lines } = await run("apply -f work");
  const inEach = (name: string) => [
    `${name} - namespaces/web changed`,
    `${name} web secrets/login failed 403 Refused`,
    `${name} default deployments.apps/web unchanged`,
    `${name} web Widget/one failed ${notServed}`,
  ];
  assert.deepEqual(lines, [
    head,
    ...inEach("east"),
    "far - - failed the context far leads to another cluster than the joined one",
    "north - - failed your kubeconfig has no context north, nor admin@north; rename one to the cluster's name with kubectl config rename-context",
    ...inEach("west"),
  ]);
  assert.deepEqual([code, reached], [1, [undefined, "east", "far", "admin@west"]]);
  assert.deepEqual(cluster.writes[0], {
    verb: "apply",
    path: "/api/v1/namespaces/web",
    body: space,
    options: { manager: "kubectl-pull-secret", force: false },
  });
  cluster.before = () => {};
  const few = await run("apply -f work/a.yml --clusters west");
  assert.deepEqual(few.lines.slice(1), [
    "west web secrets/login created",
    "west default deployments.apps/web unchanged",
  ]);
  assert.equal(few.code, 0);
  const { err } = await run("apply -f work --clusters west,away");
  assert.equal(err, "away: not joined; give east, far, north, west\n");
});

test("marks a Namespace that it creates in each apply, so that `fleet delete` finds it", async (t) => {
  const { cluster, run } = rig(t);
  for (const state of ["created", "unchanged"]) {
    const { lines } = await run("apply -f work/b.json --clusters east");
    assert.deepEqual(lines, [head, `east - namespaces/web ${state}`]);
    const annotations = { "globalpullsecret.io/applied": "true" };
    const marked = { ...space, metadata: { name: "web", annotations } };
    assert.deepEqual(cluster.writes.at(-1)?.body, marked);
    cluster.objects.set("/api/v1/namespaces/web", marked);
  }
});

test("asks before it deletes the objects, and exits with 1 if it keeps one", async (t) => {
  const { cluster, run } = rig(t);
  const unasked = await run("delete -f work --clusters east");
  assert.deepEqual([unasked.code, unasked.err.split(":")[0]], [2, "--yes"]);
  cluster.objects.set("/api/v1/namespaces/web", { metadata: {} });
  const kept = "kept was not applied by this command; delete it with kubectl";
  assert.deepEqual(await run("delete -f work --clusters east --yes"), {
    code: 1,
    err: "",
    lines: [
      head,
      "east web Widget/one gone",
      "east default deployments.apps/web gone",
      "east web secrets/login gone",
      `east - namespaces/web ${kept}`,
    ],
  });
  assert.equal((await run("delete -f work/a.yml --clusters east --yes")).code, 0);
});

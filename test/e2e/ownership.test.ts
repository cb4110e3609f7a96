/**
 * The controller repairs its own objects while nodes use them. It never changes objects that other
 * clients have created.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { stays, until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { sandboxImage } from "../cluster/host/nodefiles.ts";
import { agents, allAtOnce, auths, fileMark, kubelets } from "./nodes.ts";
import * as product from "./product.ts";

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  await product.installProduct(cluster, { settings: allAtOnce });
});
after(() => cluster?.down());

const kubectl = (...args: readonly string[]) => cluster.kubectl("-n", names.namespace, ...args);
const owned = [
  ["secret", names.globalSecretName],
  ...["serviceaccount", "role", "rolebinding", "daemonset"].map(
    (kind) => [kind, names.agentName] as const,
  ),
] as const;

/**
 * For each object, the fields that change if the object is created again, or if a client edits its
 * spec, data or metadata.
 */
const versions = async () =>
  await Promise.all(
    owned.map(async ([kind, name]) => {
      const fields =
        "{.metadata.uid} {.metadata.generation} {.metadata.labels} {.metadata.annotations} {.data} {.rules}";
      return await kubectl("get", kind, name, "--ignore-not-found", "-o", `jsonpath=${fields}`);
    }),
  );

/**
 * A user's objects, which by chance have the names of all our objects. The user's DaemonSet also
 * runs pods.
 */
function foreign(): object[] {
  const labels = { app: "theirs" };
  const of = (kind: string, apiVersion: string, more: object) => ({
    apiVersion,
    kind,
    metadata: {
      name: kind === "Secret" ? names.globalSecretName : names.agentName,
      namespace: names.namespace,
    },
    ...more,
  });
  const rbac = "rbac.authorization.k8s.io";
  const spec = {
    containers: [{ name: "theirs", image: `${cluster.registry.publicHost}/${sandboxImage}` }],
    terminationGracePeriodSeconds: 1,
  };
  return [
    of("Secret", "v1", { stringData: { mine: "1" } }),
    of("ServiceAccount", "v1", {}),
    of("Role", `${rbac}/v1`, { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] }),
    of("RoleBinding", `${rbac}/v1`, {
      roleRef: { apiGroup: rbac, kind: "Role", name: names.agentName },
      subjects: [],
    }),
    of("DaemonSet", "apps/v1", {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    }),
  ];
}

test("reports foreign objects with our names in an Event, and never changes them, not even on removal", async () => {
  await cluster.apply(...foreign());
  await product.rolledOut(cluster);
  const before = await versions();
  assert.ok(before.every((version) => version !== ""));
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  const event = await product.untilEvent(cluster, "ForeignObject", /GPS304/);
  assert.equal(event.type, "Warning");
  for (const [kind, name] of owned)
    assert.ok(event.message.includes(`${kind}s/${name}`), event.message);
  await product.deleteAdditional(cluster);
  await stays(
    "the objects are untouched",
    async () => JSON.stringify(await versions()) === JSON.stringify(before),
    2000,
  );
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
  for (const [kind, name] of owned) await kubectl("delete", kind, name);
});

let kubeletsBefore: string[];
let filesBefore: string[];

test("recreates each of our objects within seconds after its deletion, without a change on the nodes", async () => {
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster);
  kubeletsBefore = await kubelets(cluster);
  filesBefore = await Promise.all(cluster.nodes.map(fileMark));
  for (const [kind, name] of owned.toReversed()) {
    const uid = () =>
      kubectl("get", kind, name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}");
    const old = await uid();
    await kubectl("delete", kind, name, "--wait=false");
    await until(`${kind} ${name} is back`, async () => !["", old].includes(await uid()), {
      timeout: 15_000,
    });
    await untilIdle();
  }
  await undisturbed();
});

async function untilIdle(): Promise<void> {
  await product.untilServed(cluster);
}

async function undisturbed(): Promise<void> {
  assert.deepEqual(await kubelets(cluster), kubeletsBefore);
  assert.deepEqual(await Promise.all(cluster.nodes.map(fileMark)), filesBefore);
}

/**
 * One edit for each kind of object. test/controller/edits.test.ts edits more fields, without real
 * nodes.
 */
const edits: readonly (readonly [kind: string, name: string, patch: object])[] = [
  [
    "daemonset",
    names.agentName,
    {
      spec: { template: { spec: { containers: [{ name: "agent", image: "evil.example/evil" }] } } },
    },
  ],
  [
    "role",
    names.agentName,
    { rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }] },
  ],
  [
    "secret",
    names.globalSecretName,
    { data: { [names.secretKeys.document]: Buffer.from('{"auths":{}}').toString("base64") } },
  ],
];

test("repairs edits of our objects within seconds, but keeps labels of another field manager", async () => {
  const labelled = owned.filter(([kind]) => kind === "secret" || kind === "daemonset");
  for (const [kind, name] of labelled) {
    const [apiVersion, capital] = kind === "secret" ? ["v1", "Secret"] : ["apps/v1", "DaemonSet"];
    const object = {
      apiVersion,
      kind: capital,
      metadata: { name, namespace: names.namespace, labels: { team: "infra" } },
    };
    const file = join(cluster.directory, `${kind}.json`);
    writeFileSync(file, JSON.stringify(object));
    await kubectl("apply", "--server-side", "--field-manager=infra", "-f", file);
  }
  const declared = async () =>
    await Promise.all(
      owned.map(([kind, name]) =>
        kubectl(
          "get",
          kind,
          name,
          "-o",
          "jsonpath={.spec.template.spec} {.rules} {.subjects} {.metadata.labels} {.data.\\.dockerconfigjson}",
        ),
      ),
    );
  const before = await declared();
  for (const [kind, name, patch] of edits) {
    if (kind === "secret") await untilIdle().then(undisturbed);
    await kubectl("patch", kind, name, "-p", JSON.stringify(patch));
    const repaired = async () => sameButRevision(await declared(), before);
    await until(`the ${kind} is as declared`, repaired, { timeout: 15_000, seen: declared });
  }
  await untilIdle();
  for (const { spec } of await agents(cluster))
    assert.ok(!spec.containers[0]?.image.startsWith("evil"));
  for (const node of cluster.nodes)
    assert.deepEqual(Object.keys(auths(node)), [cluster.registry.host]);
  for (const [kind] of labelled)
    assert.match(
      await kubectl("get", kind, "-l", "team=infra", "-o", "name"),
      /global-pull-secret/,
    );
});

/**
 * Compares the texts without the revision in the template's probe, because each repair of the
 * Secret raises the revision.
 */
function sameButRevision(first: readonly string[], other: readonly string[]): boolean {
  const plain = (texts: readonly string[]) => texts.join("\n").replaceAll(/revision=\d+/g, "");
  return plain(first) === plain(other);
}

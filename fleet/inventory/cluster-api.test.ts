/** Checks which of Cluster API's clusters are selected. The management cluster is in memory. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { ClusterAPISource } from "#api/fleet-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { kubeconfig } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { FakeApi } from "#test/harness/api/api.ts";
import { directly } from "#test/harness/api/direct.ts";
import { picksOf } from "#test/harness/api/protocol.ts";
import { clustersOf, isDeleted, ofCluster } from "./cluster-api.ts";
import { queryOf } from "./selector.ts";

/** A CRD of Clusters, with only the parts that the fake API server reads. */
const definition = () =>
  readFileSync("manifests/chart/files/fleetsecrets/fleetsecrets.yaml", "utf8")
    .replaceAll("globalpullsecret.io", "cluster.x-k8s.io")
    .replaceAll("FleetSecret", "Cluster")
    .replaceAll("fleetsecret", "cluster")
    .replace("name: v1alpha1", "name: v1beta2")
    .replace("required: [spec]", "required: []");

async function management() {
  const api = new FakeApi();
  api.store.define(definition());
  const home = directly(api, "m");
  const namespaces: readonly (readonly [string, object])[] = [
    ["gold", { tier: "gold" }],
    ["lead", { tier: "lead", skip: "" }],
    ["none", {}],
  ];
  for (const [name, labels] of namespaces) {
    const metadata = { name, labels };
    await home.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata });
    for (const [cluster, its] of [
      [name, { env: "prod" }],
      ["other", { env: "test" }],
    ] as const)
      await home.create(`/apis/cluster.x-k8s.io/v1beta2/namespaces/${name}/clusters`, {
        apiVersion: "cluster.x-k8s.io/v1beta2",
        kind: "Cluster",
        metadata: { name: cluster, namespace: name, labels: its },
      });
  }
  return home;
}

const all = { namespaceSelector: {} };
const table: readonly (readonly [what: string, source: ClusterAPISource, names: string])[] = [
  ["a label", { namespaceSelector: { matchLabels: { tier: "gold" } } }, "gold"],
  [
    "one of two values",
    { namespaceSelector: { matchExpressions: [expression("tier", "In", "gold", "lead")] } },
    "gold,lead",
  ],
  [
    "any other value",
    { namespaceSelector: { matchExpressions: [expression("tier", "NotIn", "gold")] } },
    "lead,none",
  ],
  [
    "all except those with a label",
    { namespaceSelector: { matchExpressions: [expression("skip", "DoesNotExist")] } },
    "gold,none",
  ],
  [
    "both kinds together",
    {
      namespaceSelector: {
        matchLabels: { tier: "lead" },
        matchExpressions: [expression("skip", "Exists")],
      },
    },
    "lead",
  ],
  [
    "a Cluster's label, with one Cluster in each namespace",
    { ...all, clusterSelector: { matchLabels: { env: "prod" } } },
    "gold,lead,none",
  ],
  ["a label of no Cluster", { ...all, clusterSelector: { matchLabels: { env: "test" } } }, ""],
  [
    "a Cluster's label, with several Clusters in each namespace",
    {
      namespaceSelector: { matchLabels: { tier: "gold" } },
      clusterNameLabelValue: "Name",
      clusterSelector: { matchExpressions: [expression("env", "In", "test")] },
    },
    "gold:other",
  ],
];
function expression(
  key: string,
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
  ...values: readonly string[]
) {
  return { key, operator, ...(values.length === 0 ? {} : { values }) };
}

for (const [what, source, names] of table)
  test(`K3, K12: selects clusters by ${what}`, async () => {
    const clusters = await clustersOf(await management(), source);
    assert.equal(clusters.toSorted((a, b) => (a < b ? -1 : 1)).join(), names);
  });

for (const status of [0, 403, 404, 503])
  test(`does not count a cluster as deleted when the inventory answers ${status}`, async () => {
    const pages = async (path: string) =>
      await Promise.reject(new ApiError({ status, reason: "Refused", method: "GET", path }));
    assert.equal(await isDeleted({ pages } as unknown as Cluster, "a"), false);
  });

for (const [cluster, name] of [
  ["a", "a"],
  ["a:b", "b"],
] as const)
  test(`reads the kubeconfig of the Cluster ${cluster}, and reports whether it is absent`, async () => {
    const reading = async (data: object) => {
      const objects = new Map([[`${secretsIn("a")}/${name}-kubeconfig`, { data }]]);
      const home = { get: async (path: string) => objects.get(path) };
      return await ofCluster(home as unknown as Cluster, cluster);
    };
    const value = btoa(JSON.stringify(kubeconfig()));
    assert.partialDeepStrictEqual(await reading({ value }), { ok: true, sourceText: value });
    assert.partialDeepStrictEqual(await reading({}), { ok: false, absent: true });
    assert.ok(!("absent" in (await reading({ value: btoa("{}") }))), "it exists");
  });

test("law: builds a query that selects exactly the objects that match the selector", () => {
  const key = fc.constantFrom("a", "b");
  const value = fc.constantFrom("x", "y");
  const values = fc.uniqueArray(value, { minLength: 1, maxLength: 2 });
  const conditions = fc.array(
    fc.oneof(
      fc.record({ key, operator: fc.constantFrom("In" as const, "NotIn" as const), values }),
      fc.record({ key, operator: fc.constantFrom("Exists" as const, "DoesNotExist" as const) }),
    ),
    { maxLength: 3 },
  );
  const labels = fc.dictionary(key, value);
  fc.assert(
    fc.property(labels, labels, conditions, (has, matchLabels, matchExpressions) => {
      const query = new URLSearchParams(queryOf({ matchLabels, matchExpressions }));
      const holds = matchExpressions.every((expression) => {
        const its = has[expression.key];
        if (expression.operator === "Exists") return its !== undefined;
        if (expression.operator === "DoesNotExist") return its === undefined;
        const isIn = its !== undefined && "values" in expression && expression.values.includes(its);
        return isIn === (expression.operator === "In");
      });
      const expected = holds && Object.entries(matchLabels).every(([name, is]) => has[name] === is);
      const object = { metadata: { labels: has } } as unknown as Parameters<
        ReturnType<typeof picksOf>
      >[0];
      assert.equal(picksOf(query)(object), expected);
    }),
  );
});

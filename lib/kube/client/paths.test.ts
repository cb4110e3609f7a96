import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadDocuments } from "#kube/yaml.ts";
import * as paths from "./paths.ts";

const manifests = join(import.meta.dirname, "../../../manifests");

type Definition = Readonly<{
  kind: string;
  spec: Readonly<{
    group: string;
    scope: "Namespaced" | "Cluster";
    names: Readonly<{ plural: string }>;
    versions: readonly Readonly<{ name: string; served: boolean }>[];
  }>;
}>;

/** The collections of each CRD in the manifests: those of namespace `ns`, if it has namespaces. */
const defined = globSync("**/*.yaml", { cwd: manifests })
  .filter((file) => !file.includes("templates"))
  .flatMap((file) => loadDocuments(readFileSync(join(manifests, file), "utf8")) as Definition[])
  .filter(({ kind }) => kind === "CustomResourceDefinition")
  .flatMap(({ spec: { group, scope, names, versions } }) => {
    const [where, every] = [scope === "Namespaced" ? "/namespaces/ns" : "", ""];
    const served = versions.filter((version) => version.served);
    return served.flatMap(({ name }) =>
      [where, every].map((place) => `/apis/${group}/${name}${place}/${names.plural}`),
    );
  });

for (const path of [
  paths.collections.globalPullSecrets,
  paths.collections.nodePullSecrets.replace("/kube-system/", "/ns/"),
  paths.fleetSecretsIn("ns"),
  paths.allFleetSecrets,
  paths.allSyncSecrets,
  paths.clusterProfilesIn("ns"),
])
  test(`asks for ${path}, which a CRD in the manifests defines`, () =>
    assert.ok(defined.includes(path), defined.join("\n")));

test("asks for the built-in objects and for those of Cluster API where they are", () => {
  const { secrets, serviceAccounts, roles, roleBindings, daemonSets, pods, events, nodes } =
    paths.collections;
  assert.deepEqual(
    [secrets, serviceAccounts, roles, roleBindings, daemonSets, pods, events, nodes],
    [
      "/api/v1/namespaces/kube-system/secrets",
      "/api/v1/namespaces/kube-system/serviceaccounts",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles",
      "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
      "/apis/apps/v1/namespaces/kube-system/daemonsets",
      "/api/v1/namespaces/kube-system/pods",
      "/api/v1/namespaces/kube-system/events",
      "/api/v1/nodes",
    ],
  );
  assert.deepEqual(
    [
      paths.secretsIn("ns"),
      paths.podsIn("ns"),
      paths.leaseIn("ns", "l"),
      paths.nodesPolicyPath,
      paths.nodesBindingPath,
      paths.allClusters,
      paths.clusterResourceSetsIn("ns"),
    ],
    [
      "/api/v1/namespaces/ns/secrets",
      "/api/v1/namespaces/ns/pods",
      "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l",
      `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/${paths.nodesPolicy}`,
      `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/${paths.nodesPolicy}`,
      "/apis/cluster.x-k8s.io/v1beta2/clusters",
      "/apis/addons.cluster.x-k8s.io/v1beta2/namespaces/ns/clusterresourcesets",
    ],
  );
});

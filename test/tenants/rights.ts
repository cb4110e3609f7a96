/**
 * The rights of both sides, and requests that neither account is allowed to make. The tests send
 * these requests as the accounts.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../cluster/await.ts";
import { may } from "../cluster/rights.ts";
import { granted } from "../controller/granted.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import type { Rig } from "./rig.ts";
import { apiOf, base64, grant, objectIn, pathOf, syncSecret, untilSecret } from "./sync.ts";

const own = "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-a/syncsecrets";
const rbac = "/apis/rbac.authorization.k8s.io/v1";

type Try = readonly ["get" | "list" | "create" | "replace" | "remove", path: string];

/** Forbidden verbs and paths. NAME: the name of a derived Secret. UID: the name of its copy. */
const forbidden: readonly Try[] = [
  ["get", "/api/v1/namespaces/tenant-a/secrets/NAME"],
  ["list", "/api/v1/namespaces/tenant-a/secrets"],
  ["create", "/api/v1/namespaces/tenant-a/secrets"],
  ["replace", "/api/v1/namespaces/tenant-a/secrets/NAME"],
  ["remove", "/api/v1/namespaces/tenant-a/secrets/NAME"],
  ["list", "/api/v1/secrets"],
  ["get", "/api/v1/namespaces/kube-system/secrets/global-pull-secret"],
  ["list", "/api/v1/namespaces"],
  ["list", "/apis/globalpullsecret.io/v1alpha1/syncsecrets"],
  ["list", "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-b/syncsecrets"],
  ["get", "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-b/syncsecrets/theirs"],
  ["create", "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-b/syncsecrets"],
  ["replace", "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-b/syncsecrets/theirs"],
  ["remove", "/apis/globalpullsecret.io/v1alpha1/namespaces/tenant-b/syncsecrets/theirs"],
  ["replace", `${own}/UID/status`],
  ["create", "/api/v1/namespaces/tenant-a/pods"],
  ["list", "/api/v1/namespaces/tenant-a/configmaps"],
  ["create", "/api/v1/namespaces/tenant-a/serviceaccounts/default/token"],
  ["create", `${rbac}/namespaces/tenant-a/rolebindings`],
  ["replace", `${rbac}/namespaces/tenant-a/roles/global-pull-secret-sync-tenant`],
  ["remove", "/api/v1/namespaces/tenant-a/resourcequotas/global-pull-secret-sync"],
  ["remove", "/api/v1/namespaces/tenant-a"],
];

/** Asserts that the API server refuses an account's request because a right is missing. */
async function isForbidden(account: Api, verb: Try[0], path: string): Promise<void> {
  const tried = {
    get: () => account.get(path),
    list: () => account.get(path),
    create: () => account.create(path, { metadata: { name: "x" } }),
    replace: () => account.replace(path, { metadata: { name: path.split("/").at(-1) } }),
    remove: () => account.remove(path, "00000000-0000-0000-0000-000000000000"),
  };
  await assert.rejects(
    tried[verb](),
    (error) => error instanceof ApiError && error.status === 403,
    `${verb} ${path}`,
  );
}

const syncSecrets = "globalpullsecret.io/syncsecrets";

/** The rights on the Lease by which replicas elect a leader. */
const leases = (name: string) =>
  ["get", "create", "patch"].map(
    (verb) => `${verb} coordination.k8s.io/leases kube-system/${name}`,
  );

export function rightsTests(rig: () => Rig): void {
  test("L2, L22: grants the tenant's account the SyncSecrets of its namespace, and none of the forbidden rights", async () => {
    const { management, tenant, access, start } = rig();
    start();
    await grant(management, "tenant-b");
    await tenant.cluster.apply(syncSecret("one", { stringData: { a: "1" } }));
    const expected = { data: { a: base64("1") } };
    const secret = await untilSecret(tenant, management, "one", expected);
    const uid = (await objectIn(tenant, "one"))?.metadata.uid ?? "";
    const account = apiOf(access);
    for (const [verb, path] of forbidden) {
      const at = path.replace("NAME", secret.metadata?.name ?? "").replace("UID", uid);
      await isForbidden(account, verb, at);
    }
    assert.ok(forbidden.length >= 20);
    assert.notEqual(await account.get(`${own}/${uid}`), undefined);
  });

  test("L2, L22: grants the tenant's side in its own cluster rights on only one Secret, which holds its kubeconfig", async () => {
    const { tenant } = rig();
    const account = apiOf(tenant.kubeconfig);
    const [name, where] = ["another", "kube-system"];
    await tenant.cluster.kubectl("create", "secret", "generic", name, "-n", where);
    await isForbidden(account, "list", "/api/v1/secrets");
    for (const namespace of ["default", where]) {
      const secrets = `/api/v1/namespaces/${namespace}/secrets`;
      for (const verb of ["list", "create"] as const) await isForbidden(account, verb, secrets);
      for (const verb of ["get", "replace", "remove"] as const)
        await isForbidden(account, verb, `${secrets}/${name}`);
    }
    // Shows that the account works: it can read SyncSecrets.
    await tenant.cluster.apply(syncSecret("own", { stringData: { a: "1" } }));
    assert.notEqual(await account.get(pathOf("default", "own")), undefined);
    await tenant.cluster.kubectl("delete", "secret", name, "-n", where);
    const its = "global-pull-secret-sync-tenant";
    assert.deepEqual(
      (await granted(tenant, `system:serviceaccount:${where}:${its}`)).toSorted(),
      [
        ...leases(its),
        ...["get", "list", "patch", "watch"].map((verb) => `${verb} ${syncSecrets} *`),
        `patch ${syncSecrets}/status *`,
        // The program writes its renewed token into this Secret.
        ...["get", "patch"].map(
          (verb) => `${verb} secrets ${where}/global-pull-secret-sync-management`,
        ),
        "get namespaces kube-system",
        "create events *",
      ].toSorted(),
    );
  });

  test("L21: grants the management side its verbs only in each tenant's namespace, by a RoleBinding there, and no access to Secrets elsewhere", async () => {
    const { management } = rig();
    const account = "system:serviceaccount:kube-system:global-pull-secret-sync-management";
    const can = (verb: string, what: string, where: string) =>
      may(management.cluster, account, verb, what, where);
    const rights: Readonly<Record<string, readonly string[]>> = {
      secrets: ["get", "list", "watch", "create", "patch", "delete"],
      "syncsecrets.globalpullsecret.io": ["get", "list", "watch"],
      "syncsecrets.globalpullsecret.io:status": ["patch"],
    };
    for (const [what, verbs] of Object.entries(rights)) {
      for (const verb of verbs) assert.ok(await can(verb, what, "tenant-a"), `${verb} ${what}`);
      for (const where of ["default", "kube-system"])
        assert.ok(!(await can("get", what, where)), `get ${what} in ${where}`);
    }
    for (const what of [
      "pods",
      "rolebindings.rbac.authorization.k8s.io",
      "serviceaccounts:token",
      "configmaps",
    ])
      assert.ok(!(await can("create", what, "tenant-a")), what);
    assert.ok(!(await can("deletecollection", "secrets", "tenant-a")));
    const its = "global-pull-secret-sync-management";
    const all = await granted(management, account);
    const tenants = all.filter((right) => !right.includes(" kube-system/") && right.includes("/*"));
    const places = new Set(tenants.map((right) => right.replace(/^.* (.*)\/\*$/, "$1")));
    assert.ok(places.has("tenant-a") && places.has("tenant-b"), [...places].join());
    const tenantRights = [
      ...(rights["secrets"] ?? []).map((verb) => `${verb} secrets`),
      ...["get", "list", "watch"].map((verb) => `${verb} ${syncSecrets}`),
      `patch ${syncSecrets}/status`,
      `update ${syncSecrets}/finalizers`,
      "create events",
    ];
    const each = [...places].flatMap((place) => tenantRights.map((right) => `${right} ${place}/*`));
    assert.deepEqual(tenants.toSorted(), each.toSorted());
    assert.deepEqual(
      all.filter((right) => !tenants.includes(right)).toSorted(),
      [
        ...leases(its),
        ...["get", "list", "watch"].map((verb) => `${verb} namespaces *`),
      ].toSorted(),
    );
  });

  test("lets a drain evict one pod of either side at a time, by the shipped PodDisruptionBudgets", async () => {
    const { management, tenant } = rig();
    for (const [side, { cluster }] of Object.entries({ management, tenant })) {
      const its = [`global-pull-secret-sync-${side}`, "-n", "kube-system"] as const;
      const budget = await cluster.get<{
        spec: { minAvailable: number; selector: { matchLabels: Record<string, string> } };
      }>("poddisruptionbudget", ...its);
      const deployment = await cluster.get<{
        spec: { template: { metadata: { labels: Record<string, string> } } };
      }>("deployment", ...its);
      assert.equal(budget?.spec.minAvailable, 1);
      assert.deepEqual(
        budget.spec.selector.matchLabels,
        deployment?.spec.template.metadata.labels,
        side,
      );
    }
  });

  test("L32: gives no built-in role of Kubernetes access to SyncSecrets, so that even editors of a namespace can neither read nor create them", async () => {
    const { tenant } = rig();
    const { cluster } = tenant;
    for (const role of ["view", "edit", "admin"]) {
      await cluster.kubectl(
        "create",
        "rolebinding",
        role,
        `--clusterrole=${role}`,
        `--user=${role}er`,
      );
      const can = (verb: string, what: string) => may(cluster, `${role}er`, verb, what, "default");
      await until(`${role} is in force`, () => can("get", "configmaps"));
      for (const verb of ["get", "list", "watch", "create", "update", "patch", "delete"])
        assert.ok(!(await can(verb, "syncsecrets.globalpullsecret.io")), `${role} ${verb}`);
    }
  });
}

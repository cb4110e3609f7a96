/** Applies an example workload to every joined cluster with one command. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { V1Deployment, V1Pod } from "@kubernetes/client-node";
import { auditOf } from "../cluster/audit.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Rig } from "./clusters.ts";
import { assertShown } from "./page.ts";

const rbac = "rbac.authorization.k8s.io/v1";
const space = { namespace: "web" };
const subjects = [{ kind: "ServiceAccount", name: "default", ...space }];
const seconds = 30;

const role = (kind: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name: "reader" });
const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];

/**
 * The example workload: file name → the objects in the file. The CRD is in a later file than the
 * Widget that needs it, because users' file names have any order.
 */
const files: Readonly<Record<string, readonly object[]>> = {
  "a-widget.json": [
    { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "one", ...space }, spec: {} },
  ],
  "b-rights.json": [
    { apiVersion: rbac, kind: "Role", metadata: { name: "reader", ...space }, rules },
    {
      apiVersion: rbac,
      kind: "RoleBinding",
      metadata: { name: "reader", ...space },
      roleRef: role("Role"),
      subjects,
    },
    {
      apiVersion: rbac,
      kind: "ClusterRoleBinding",
      metadata: { name: "web-view" },
      roleRef: { ...role("ClusterRole"), name: "view" },
      subjects,
    },
  ],
  "c-web.json": [
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", ...space },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: "web" } },
        template: {
          metadata: { labels: { app: "web" } },
          spec: {
            imagePullSecrets: [{ name: "regcred" }],
            containers: [{ name: "web", image: "registry.example/team/web:1" }],
            tolerations: ["not-ready", "unreachable"].map((state) => ({
              key: `node.kubernetes.io/${state}`,
              operator: "Exists",
              effect: "NoExecute",
              tolerationSeconds: seconds,
            })),
          },
        },
      },
    },
  ],
  "y-widgets.json": [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { kind: "Widget", plural: "widgets", singular: "widget" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            },
          },
        ],
      },
    },
  ],
  "z-namespace.json": [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "web" } }],
};
const count = Object.values(files).flat().length;

/**
 * Creates a folder with the example workload. The workload's image is the private registry's
 * `team/web:1`.
 */
export function writeWork(folder: string): void {
  mkdirSync(folder);
  for (const [name, objects] of Object.entries(files))
    writeFileSync(join(folder, name), objects.map((one) => JSON.stringify(one)).join("\n---\n"));
}

export function applying(on: () => Rig): void {
  const apply = (rest = "") => `fleet apply -f work${rest}`;
  const rows = (out: string, state: string) =>
    out.split("\n").filter((line) => new RegExp(` ${state}(?: |$)`).test(line)).length;

  test("M3, M4, M5, M6: applies namespace, rights, CRD and Deployment to two clusters with one command and the user's own contexts", async () => {
    const { person, east, west } = on();
    writeWork(join(person.folder, "work"));
    const since = new Date().toISOString();
    // The plugin uses the context with the cluster's name, even if the join used a context with
    // another name.
    assert.equal((await person.kubectl("config rename-context admin@east east")).code, 0);
    const first = await person.ok(apply(" --clusters east,west"));
    assert.equal(rows(first, "created"), 2 * count, first);
    assertShown(
      "extend/clusters.md",
      "kubectl pull-secret fleet apply -f manifests --clusters east,west",
      first,
    );
    for (const cluster of [east, west]) await untilDeployed(cluster);
    const second = await person.ok(apply(" --clusters east,west"));
    // In each cluster one object can differ, because Kubernetes' own controllers might have changed
    // the annotations of the Deployment.
    assert.ok(rows(second, "unchanged") >= 2 * count - 2, second);
    // The plugin used the user's contexts. The joins' tokens are in the host cluster, and the
    // plugin did not use them.
    const asked = auditOf(east, { since }).filter(
      ({ userAgent, verb }) => userAgent === "kubectl-pull-secret" && verb === "patch",
    );
    assert.deepEqual([...new Set(asked.map(({ user }) => user))], ["admin"]);
  });

  test("creates what is missing, and does not take over a field of another client", async () => {
    const { person, west } = on();
    await west.kubectl("delete", "rolebinding", "reader", "-n", "web");
    await west.kubectl("scale", "deployment/web", "-n", "web", "--replicas=1");
    // kubectl scale has made another client the owner of the field `replicas`. The plugin does not
    // take this field over.
    const owned = await person.plugin(apply(" --clusters west"));
    assert.equal(owned.code, 1);
    assert.match(owned.out, /deployments\S*\/web +failed +409 Conflict/);
    assert.match(owned.out, /rolebindings\S*\/reader +created/);
    await west.kubectl("scale", "deployment/web", "-n", "web", "--replicas=3");
    await person.ok(apply(" --clusters west"));
  });

  test("continues with the other clusters when a cluster is away or its context leads to another cluster", async () => {
    const { person, east, west } = on();
    await east.kubectl("delete", "role", "reader", "-n", "web");
    await west.stopApiServer();
    const away = await person.plugin(apply(" --clusters east,west"));
    await west.startApiServer();
    assert.equal(away.code, 1);
    assert.match(away.out, /^ *west .* failed .*no answer/m);
    assert.match(away.out, /^ *east .*roles\S*\/reader +created/m);
    // Now the context `west` leads to the cluster east.
    for (const [name, other] of [
      ["west", "really-west"],
      ["east", "west"],
    ] as const)
      await person.kubectl(`config rename-context ${name} ${other}`);
    const wrong = await person.plugin(apply(" --clusters west"));
    assert.equal(wrong.code, 1);
    assert.match(wrong.out, /west .*failed .*the context west leads to another cluster/);
    for (const [name, other] of [
      ["west", "east"],
      ["really-west", "west"],
    ] as const)
      await person.kubectl(`config rename-context ${name} ${other}`);
    await person.ok(apply(" --clusters east,west"));
  });

  test("stops before the first request if a file is not a manifest, and does not quote the file", async () => {
    const { person, home, east, west } = on();
    const since = new Date().toISOString();
    writeFileSync(join(person.folder, "odd.yaml"), "a: [planted-3e1");
    writeFileSync(join(person.folder, "kindless.yaml"), "metadata: {name: planted-3e1}");
    for (const name of ["odd", "kindless", "nowhere"]) {
      const { code, out, err } = await person.plugin(`fleet apply -f ${name}.yaml`);
      assert.equal(code, name === "nowhere" ? 2 : 1);
      assert.match(err, new RegExp(`^${name}\\.yaml: `));
      assert.ok(!`${out}${err}`.includes("planted"));
    }
    for (const cluster of [home.cluster, east, west]) {
      const asked = auditOf(cluster, { since });
      assert.deepEqual(
        asked.filter(({ userAgent }) => userAgent === "kubectl-pull-secret"),
        [],
      );
    }
  });

  test("M13: deletes the whole workload with one command, and keeps the objects of other owners", async () => {
    const { person, east, west } = on();
    await person.ok(apply(" --clusters east,west"));
    await east.kubectl("create", "configmap", "theirs", "-n", "default");
    const gone = await person.ok("fleet delete -f work --clusters east,west --yes");
    assert.equal(rows(gone, "deleted"), 2 * count, gone);
    for (const cluster of [east, west]) {
      await cluster.kubectl("wait", "namespace/web", "--for=delete", "--timeout=90s");
      const left = ["get", "crd", "widgets.example.com", "--ignore-not-found", "-o", "name"];
      assert.equal((await cluster.kubectl(...left)).trim(), "");
    }
    await east.kubectl("get", "configmap", "theirs", "-n", "default");
    const placed = await person.ok(apply(" --clusters east,west"));
    assert.equal(rows(placed, "created"), 2 * count, placed);
  });
}

/** Waits until the example workload exists as declared, and its three pods are created. */
export async function untilDeployed(cluster: Cluster): Promise<void> {
  const its = ["-n", "web"];
  const live = await cluster.get<V1Deployment>("deployment", "web", ...its);
  assert.equal(live?.spec?.replicas, 3);
  await until("the workload's pods are created", async () => {
    const pods = await cluster.get<{ items: V1Pod[] }>("pods", "-l", "app=web", ...its);
    const made = (pods?.items ?? []).filter(({ spec }) => {
      const patient = spec?.tolerations?.filter((one) => one.tolerationSeconds === seconds);
      return patient?.length === 2 && spec?.imagePullSecrets?.[0]?.name === "regcred";
    });
    return made.length === 3;
  });
  for (const [kind, name] of [
    ["role", "reader"],
    ["rolebinding", "reader"],
    ["widget", "one"],
  ] as const)
    assert.ok(await cluster.get(kind, name, ...its), kind);
  assert.ok(await cluster.get("clusterrolebinding", "web-view"));
}

/** Install, upgrade and removal with helm and with kubectl, on a real node. */
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { auths, kubelets } from "../e2e/nodes.ts";
import * as product from "../e2e/product.ts";
import { chart, helmOn } from "./helm.ts";

let cluster: Cluster;
let image: readonly string[];

/** A config.json that another program has written. The tests compare every byte. */
const others = '{ "auths":{"elsewhere.example":{"auth":"c29tZWJvZHk6ZWxzZQ=="}} }\n';

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  cluster.nodes[0]?.writeFile("config.json", others, 0o640);
  const reference = await buildImage(cluster);
  const at = reference.lastIndexOf(":");
  image = [
    `--set=image.repository=${reference.slice(0, at)}`,
    `--set-string=image.tag=${reference.slice(at + 1)}`,
  ];
});
after(() => cluster?.down());

const file = (): string => cluster.nodes[0]?.readFile("config.json")?.toString() ?? "";
const isServed = (): boolean => cluster.registry.host in auths(cluster.nodes[0]);

const object = ["globalpullsecret", names.globalPullSecretName] as const;

async function ready(): Promise<void> {
  await cluster.kubectl("wait", "--for=condition=Ready", ...object, "--timeout=120s");
}

/** All objects in the cluster with our name, as kind/name. */
async function ours(): Promise<string[]> {
  const kinds = [
    "deployments",
    "daemonsets",
    "pods",
    "jobs",
    "serviceaccounts",
    "secrets",
    "leases",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "poddisruptionbudgets",
    "networkpolicies",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
    "customresourcedefinitions",
  ];
  const output = await cluster.kubectl("get", kinds.join(","), "-A", "-o", "name");
  return output
    .split("\n")
    .filter((name) => /pull-?secret/.test(name))
    .toSorted();
}

/** Makes an older chart, whose CRD lacks the column Revision. */
function olderChart(): string {
  const folder = join(cluster.directory, "older");
  cpSync(chart, folder, { recursive: true });
  const crd = join(folder, "crds/globalpullsecrets.yaml");
  const text = readFileSync(crd, "utf8");
  const older = text.replace(/^ +- name: Revision\n(?: +[A-Za-z]+: .*\n){3}/m, "");
  assert.notEqual(older, text);
  writeFileSync(crd, older);
  return folder;
}

const columns = async (): Promise<string> =>
  (await cluster.kubectl("get", "globalpullsecrets")).split("\n")[0] ?? "";

async function allow(maxUnavailable: string): Promise<void> {
  const patch = JSON.stringify({ spec: { rollout: { maxUnavailable } } });
  await cluster.kubectl("patch", ...object, "--type=merge", "-p", patch);
}

async function reasonOf(conditionType: string): Promise<string | undefined> {
  const { conditions = [] } = (await cluster.get<GlobalPullSecret>(...object))?.status ?? {};
  const condition = conditions.find(
    ({ type, status }) => type === conditionType && status === "True",
  );
  return condition?.reason;
}

test("serves a node after helm install, and applies a new CRD and flag in an upgrade without a kubelet restart", async () => {
  const notes = await helmOn(cluster, "install", "gps", olderChart(), ...image, "--wait");
  assert.match(notes, /kubectl create secret generic additional-pull-secret -n kube-system/);
  await product.steerProduct(cluster, {});
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await until("the node has the entry", isServed);
  await ready();
  assert.doesNotMatch(await columns(), /REVISION/);
  const before = await kubelets(cluster);
  // Helm does not upgrade the CRDs in crds/.
  const how = ["--server-side", "--force-conflicts"];
  await cluster.kubectl("apply", ...how, "-f", join(chart, "crds"));
  const upgraded = ["--reuse-values", "--set=flags.maxUnavailableLimit=50%", "--wait"];
  await helmOn(cluster, "upgrade", "gps", chart, ...upgraded);
  assert.match(await columns(), /REVISION/);
  await allow("60%");
  await until("the new flag is in force", async () => (await reasonOf("Stalled")) === "NotAllowed");
  await allow("50%");
  await until("the condition is as it was", async () => (await reasonOf("Ready")) === "InForce");
  assert.deepEqual(await kubelets(cluster), before);
});

const upgrade = (...args: readonly string[]) =>
  helmOn(cluster, "upgrade", "gps", chart, "--reset-then-reuse-values", "--wait", ...args);
const specOf = async () => (await cluster.get<GlobalPullSecret>(...object))?.spec;

test("an upgrade changes only the fields whose value in policy changes, and returns a removed field to its default", async () => {
  const mine = JSON.stringify({ spec: { withdrawal: { grace: "7s" } } });
  await cluster.kubectl("patch", ...object, "--type=merge", "-p", mine);
  await upgrade("--set=policy.rollout.maxFailures=2");
  assert.equal((await specOf())?.rollout?.maxFailures, 2);
  const edit = JSON.stringify({ spec: { rollout: { maxFailures: 3 } } });
  await cluster.kubectl("patch", ...object, "--type=merge", "-p", edit);
  await upgrade();
  assert.equal((await specOf())?.rollout?.maxFailures, 3);
  // Omits --reset-then-reuse-values, with which Helm would keep the removed value.
  await helmOn(cluster, "upgrade", "gps", chart, ...image, "--wait");
  const { rollout, withdrawal } = (await specOf()) ?? {};
  assert.deepEqual([rollout?.maxFailures, withdrawal?.grace], [0, "7s"]);
});

test("keeps the running controller and its policy when an upgrade contains a policy that the API server refuses", async () => {
  const wrong = ["--set=policy.rollout.probation=1s", "--atomic", "--timeout=40s"];
  await assert.rejects(upgrade(...wrong));
  assert.equal((await specOf())?.managementState, "Managed");
  assert.ok(isServed());
  await ready();
});

test("restores the node before helm uninstall ends, and keeps only the CRDs and the Secret", async () => {
  await helmOn(cluster, "uninstall", "gps", "--wait", "--timeout=5m");
  assert.equal(file(), others);
  await until(
    "the pods are gone",
    async () => !(await ours()).some((name) => name.startsWith("pod/")),
  );
  assert.deepEqual(await ours(), [
    "customresourcedefinition.apiextensions.k8s.io/globalpullsecrets.globalpullsecret.io",
    "customresourcedefinition.apiextensions.k8s.io/nodepullsecrets.globalpullsecret.io",
    `secret/${names.additionalSecretName}`,
  ]);
  assert.equal(await cluster.get<GlobalPullSecret>(...object), undefined);
});

test("kubectl apply -k serves the remaining Secret; once the Secret is deleted, kubectl delete -k leaves only the Lease", async () => {
  await product.installProduct(cluster, { settings: {} });
  await until("the node has the entry", isServed);
  await ready();
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  assert.equal(file(), others);
  await cluster.kubectl("delete", "-k", join(cluster.directory, "overlay"), "--timeout=60s");
  await until(
    "the pods are gone",
    async () => !(await ours()).some((name) => name.startsWith("pod/")),
  );
  assert.deepEqual(await ours(), [`lease.coordination.k8s.io/global-pull-secret-controller`]);
});

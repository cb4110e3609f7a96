/**
 * A controller in the management cluster serves one hosted cluster through its kubeconfig. The
 * hosted cluster has its own API server. The original and the Lease are in the management cluster.
 */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { V1DaemonSet, V1Lease, V1Secret } from "@kubernetes/client-node";
import { auditOf, isWrite, type AuditedRequest } from "../cluster/audit.ts";
import { stays, until } from "../cluster/await.ts";
import { granted, needed } from "./granted.ts";
import {
  controlPlaneNamespace,
  dataKubeconfig,
  expiredCertificate,
  startHome,
  type HomeCluster,
} from "./guest.ts";
import * as plane from "./plane.ts";
import { document, paths, pullSecret } from "./plane.ts";
import { untilCondition } from "./steer.ts";
import { unwatched } from "./unwatched.ts";

let guest: plane.Plane;
let home: HomeCluster;
let file: string;
const running: plane.Controller[] = [];
const account = `system:serviceaccount:${controlPlaneNamespace}:global-pull-secret-controller`;

before(async () => {
  [guest, home] = await Promise.all([plane.startGuestPlane(plane.agentImage), startHome()]);
  file = join(guest.cluster.directory, "mounted");
});
after(async () => {
  home?.cluster.down();
  await guest?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  for (const controller of running.splice(0)) await controller[Symbol.asyncDispose]();
  await home.cluster.kubectl("delete", "lease", "--all", "-n", controlPlaneNamespace);
  await plane.wipe(guest);
});

/** Replaces the kubeconfig by a rename, as the kubelet replaces a mounted file. */
function mount(text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
const goodKubeconfig = () => dataKubeconfig(guest.cluster, { token: guest.token });

function start(kubeconfig = goodKubeconfig()): plane.Controller {
  mount(kubeconfig);
  const controller = plane.startOnce(
    home.kubeconfig,
    `--namespace=${controlPlaneNamespace}`,
    `--original=${controlPlaneNamespace}/pull-secret`,
    `--guest-kubeconfig=${file}`,
  );
  running.push(controller);
  return controller;
}

async function rotateOriginal(word: string): Promise<void> {
  const secret = pullSecret("pull-secret", document({ "o.example": `orig:${word}` }));
  const metadata = { name: "pull-secret", namespace: controlPlaneNamespace };
  await home.cluster.apply({ ...secret, metadata });
}
const declare = (word: string) => plane.declare(guest, document({ "a.example": `add:${word}` }));
const merged = (additional: string, original: string) =>
  document({ "a.example": `add:${additional}`, "o.example": `orig:${original}` });
const holder = async () =>
  (
    await home.cluster.get<V1Lease>(
      "lease",
      "global-pull-secret-controller",
      "-n",
      controlPlaneNamespace,
    )
  )?.spec?.holderIdentity;
const withGroup = ({ group, resource, ...request }: AuditedRequest): AuditedRequest => {
  return { ...request, group, resource: [group, resource].filter(Boolean).join("/") };
};
const untilOutput = (controller: plane.Controller, word: string | RegExp) =>
  until(`the output contains ${word}`, () => controller.output().match(word) !== null, {
    seen: controller.output,
  });

test("H3, H8: merges the hosted cluster's Secret with the management cluster's original, and delivers a rotation of each", async () => {
  await rotateOriginal("1");
  const name = "controller-pod";
  const image = plane.agentImage;
  await home.cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: controlPlaneNamespace },
    spec: { containers: [{ name: "controller", image }] },
  });
  process.env["POD_NAME"] = name;
  const since = new Date().toISOString();
  const controller = start();
  delete process.env["POD_NAME"];
  await declare("1");
  await plane.untilPublished(guest, merged("1", "1"));
  const daemonSet = await until("the DaemonSet is deployed", () =>
    guest.api.get<V1DaemonSet>(paths.daemonSet),
  );
  assert.equal(daemonSet.spec?.template.spec?.containers[0]?.image, image);
  await rotateOriginal("2");
  await plane.untilPublished(guest, merged("1", "2"));
  await declare("2");
  await plane.untilPublished(guest, merged("2", "2"));
  await plane.clear(guest);
  assert.equal(await controller.stop(), 0);
  assert.equal(await holder(), "");

  // In the management cluster the controller has exactly the rights of manifests/hosted, and writes
  // only its Lease.
  const here = () =>
    auditOf(home.cluster, { since })
      .filter(({ user }) => user === account)
      .map((request) => withGroup(request));
  assert.deepEqual(
    here().filter(({ code }) => code === 403),
    [],
  );
  const rights = await granted({ cluster: home.cluster }, account);
  await withoutWatch();
  const asked = here();
  assert.deepEqual(
    new Set(asked.filter(isWrite).map(({ resource }) => resource)),
    new Set(["coordination.k8s.io/leases"]),
  );
  const pods = `get pods ${controlPlaneNamespace}`;
  const used = asked
    .filter(({ code }) => code !== 403)
    .flatMap(needed)
    .map((right) => right.replace(`${pods}/${name}`, `${pods}/*`));
  assert.deepEqual([...new Set(rights)].toSorted(), [...new Set(used)].toSorted());

  // The hosted cluster has no Lease, and no trace of the management cluster.
  const leases = auditOf(guest.cluster, { since }).filter(({ resource }) => resource === "leases");
  const ours = leases.filter(({ userAgent }) => userAgent.startsWith("global-pull-secret"));
  assert.deepEqual(ours, []);
});

/** Removes the right to watch the original, so that the controller requests it by its name. */
async function withoutWatch(): Promise<void> {
  const namespace = controlPlaneNamespace;
  const role = ["role", "global-pull-secret-controller", "-n", namespace];
  const original = { user: account, what: "secrets/pull-secret", namespace, role };
  await using _unwatched = await unwatched(home.cluster, original);
  const controller = start();
  await declare("2");
  await plane.untilPublished(guest, merged("2", "2"));
  await plane.clear(guest);
  assert.equal(await controller.stop(), 0);
}

test("continues without a restart when the expired credential in its kubeconfig is replaced", async () => {
  await rotateOriginal("2");
  const controller = start(dataKubeconfig(guest.cluster, await expiredCertificate(guest.cluster)));
  await declare("3");
  await untilOutput(controller, "401 Unauthorized");
  assert.equal(controller.exited(), undefined);
  mount(goodKubeconfig());
  await plane.untilPublished(guest, merged("3", "2"), 120_000);
  // Then the file contains nonsense. The controller keeps the last good credential.
  mount("{");
  await declare("4");
  await plane.untilPublished(guest, merged("4", "2"), 120_000);
  await untilOutput(controller, "GPS402");
  mount(goodKubeconfig());
  await declare("5");
  await plane.untilPublished(guest, merged("5", "2"), 120_000);
  assert.ok(!controller.output().includes(guest.token));
});

test("keeps the Lease while the hosted cluster's API server is away, and delivers the original's change when this server is back", async () => {
  await rotateOriginal("2");
  const controller = start();
  await declare("6");
  await plane.untilPublished(guest, merged("6", "2"));
  const me = await holder();
  await guest.cluster.stopApiServer();
  await rotateOriginal("3");
  await untilOutput(controller, /reconcile failed/);
  await guest.cluster.startApiServer();
  await plane.untilPublished(guest, merged("6", "3"), 180_000);
  assert.equal(await holder(), me);
  assert.equal(controller.exited(), undefined);
});

test("ends by itself within the termination grace period when the hosted cluster's API server is gone", async () => {
  await rotateOriginal("3");
  const controller = start();
  await declare("7");
  await plane.untilPublished(guest, merged("7", "3"));
  await guest.cluster.stopApiServer();
  await rotateOriginal("4");
  await untilOutput(controller, /reconcile failed/);
  const asked = Date.now();
  assert.equal(await controller.stop(), 0);
  // 30 s is the Deployment's terminationGracePeriodSeconds. After this time the kubelet kills the
  // controller.
  assert.ok(Date.now() - asked < 30_000);
  assert.equal(await holder(), "");
  await guest.cluster.startApiServer();
});

test("while the management cluster is away, ends without a write; the next controller delivers the change that was made meanwhile", async () => {
  await rotateOriginal("4");
  const controller = start();
  await declare("8");
  const revision = await plane.untilPublished(guest, merged("8", "4"));
  await home.cluster.stopApiServer();
  await until("the controller ends", () => controller.exited() === 1);
  await declare("9");
  const still = await plane.published(guest);
  assert.deepEqual([still?.revision, still?.document], [revision, merged("8", "4")]);
  await home.cluster.startApiServer();
  start();
  await plane.untilPublished(guest, merged("9", "4"), 120_000);
});

test("continues to serve the hosted cluster when the original is deleted, or the right to read it is removed", async () => {
  await rotateOriginal("4");
  const controller = start();
  await declare("10");
  await plane.untilPublished(guest, merged("10", "4"));
  await home.cluster.kubectl("delete", "secret", "pull-secret", "-n", controlPlaneNamespace);
  await untilCondition(guest, "SourcesAccepted", "False");
  await declare("11");
  await plane.untilPublished(guest, merged("11", "4"));
  await rotateOriginal("5");
  await plane.untilPublished(guest, merged("11", "5"));
  await untilCondition(guest, "SourcesAccepted", "True");

  // The Role also grants access to the Lease, so the test does not delete the Role, but only
  // changes the Secret's name in it. An API server does not end a running watch when the right to
  // watch is removed, so the test restarts the controller.
  assert.equal(await controller.stop(), 0);
  await nameOriginal("pull-secret", "not-the-original");
  start();
  await untilCondition(guest, "SourcesAccepted", "False");
  await rotateOriginal("6");
  await declare("12");
  await plane.untilPublished(guest, merged("12", "5"));
  await nameOriginal("not-the-original", "pull-secret");
  await plane.untilPublished(guest, merged("12", "6"), 120_000);
  await untilCondition(guest, "SourcesAccepted", "True");
});

/** Renames the original in the Role's rule on Secrets. Fails if the rule does not name `former`. */
async function nameOriginal(former: string, name: string): Promise<void> {
  const path = "/rules/0/resourceNames/0";
  const patch = [
    { op: "test", path, value: former },
    { op: "replace", path, value: name },
  ];
  const its = ["role", "global-pull-secret-controller", "-n", controlPlaneNamespace];
  await home.cluster.kubectl("patch", ...its, "--type=json", "-p", JSON.stringify(patch));
}

const hostile: readonly (readonly [code: string, what: string, user: object, cluster?: object])[] =
  [
    [
      "GPS408",
      "a program",
      { exec: { apiVersion: "v1", command: "/bin/touch", args: ["/tmp/x"] } },
    ],
    ["GPS409", "another service", { "auth-provider": { name: "oidc" } }],
    ["GPS410", "a file", { tokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" }],
    ["GPS411", "any server", {}, { "insecure-skip-tls-verify": true }],
    ["GPS412", "a proxy", {}, { "proxy-url": "http://127.0.0.1:1" }],
    ["GPS413", "another user", { as: "system:admin" }],
  ];

test("ends with an error code before its first request if a kubeconfig contains more than address and credential", async () => {
  const since = new Date().toISOString();
  for (const [code, what, user, cluster] of hostile) {
    const controller = start(
      dataKubeconfig(guest.cluster, { token: guest.token, ...user }, cluster),
    );
    await until(`the controller ends: ${what}`, () => controller.exited() === 1);
    assert.match(controller.output(), new RegExp(`^${code} --guest-kubeconfig: `));
    assert.ok(!controller.output().includes(guest.token));
  }
  for (const { cluster } of [guest, home])
    assert.deepEqual(
      auditOf(cluster, { since }).filter(({ user }) =>
        user.endsWith(":global-pull-secret-controller"),
      ),
      [],
    );
});

test("ends without a request when its kubeconfig is replaced by one of another cluster, so that no process serves two tenants", async () => {
  await rotateOriginal("5");
  const controller = start();
  await declare("12");
  await plane.untilPublished(guest, merged("12", "5"));
  // This test uses the management cluster as the other tenant's cluster, because the test has
  // administrator rights there.
  const account = ["other-tenant", "-n", "default"];
  await home.cluster.kubectl("create", "serviceaccount", ...account);
  const token = (await home.cluster.kubectl("create", "token", ...account)).trim();
  mount(dataKubeconfig(home.cluster, { token }));
  await rotateOriginal("6");
  await until("the controller ends", () => controller.exited() === 0, { seen: controller.output });
  await untilOutput(controller, "names another cluster");
  const asked = auditOf(home.cluster).filter(({ user }) => user.endsWith(":other-tenant"));
  assert.deepEqual(asked, []);
  assert.equal(await home.api.get<V1Secret>(paths.global), undefined);
});

test("lets the hosted cluster's administrator set that cluster's policy, but read no Secret of the management cluster", async () => {
  await rotateOriginal("6");
  const since = new Date().toISOString();
  await home.cluster.apply({
    ...pullSecret("not-yours", document({ "secret.example": "planted:1" })),
    metadata: { name: "not-yours", namespace: controlPlaneNamespace },
  });
  const controller = start();
  await declare("13");
  await plane.untilPublished(guest, merged("13", "6"));
  const sources = [{ name: "extra", secretRef: { name: "not-yours" }, priority: 1 }];
  const spec = JSON.stringify({ spec: { sources } });
  await guest.cluster.kubectl("patch", "gps", "cluster", "--type=merge", "-p", spec);
  await until("the Secret is requested there", async () =>
    (await guest.cluster.kubectl("get", "gps", "cluster", "-o", "json")).includes("not-yours"),
  );
  const published = async () => (await plane.published(guest))?.document === merged("13", "6");
  await stays("none of it is published", published, 2000);
  const names = auditOf(home.cluster, { since })
    .filter(({ user, resource }) => user === account && resource === "secrets")
    .map(({ name, uri }) => name || /metadata\.name%3D([a-z-]+)/.exec(uri)?.[1]);
  assert.deepEqual(new Set(names), new Set(["pull-secret"]));
  assert.ok(!controller.output().includes("planted"));
  await guest.cluster.kubectl("delete", "gps", "cluster");
});

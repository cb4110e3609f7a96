/**
 * The objects that the controller creates, repairs or refuses. The API server is real and has one
 * node, and the controller has the rights of manifests/.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import type { V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { restsFrom } from "../cluster/rest.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import * as plane from "./plane.ts";
import { document, paths, pullSecret } from "./plane.ts";
import { statusOf } from "./steer.ts";

let on: plane.Plane;
let kubelets: NodesDriver;
let controller: plane.Controller;
const planted = "planted-password-7b1f";
const first = document({ "quay.io": `robot:${planted}` });

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  await kubelets.add("a");
  controller = plane.startController(on.kubeconfig, "--original", "kube-system/pull-secret");
});
after(async () => {
  await controller[Symbol.asyncDispose]();
  await kubelets[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});
afterEach(async () => {
  await plane.clear(on);
  await on.cluster.kubectl(
    "delete",
    "secret",
    "pull-secret",
    "-n",
    "kube-system",
    "--ignore-not-found",
  );
});

const kubectl = (...args: string[]) => on.cluster.kubectl("-n", "kube-system", ...args);
const syncer = "global-pull-secret-syncer";

const deployed = () => plane.deployed(on, first);

test("H5, H10, H11, H12, H14: creates all other objects from the Secret alone, in a fixed order", async () => {
  const since = new Date().toISOString();
  await deployed();
  const creations = plane
    .requests(on, since)
    .filter(({ code, resource }) => code === 201 && resource !== "events");
  assert.deepEqual(
    creations.map(({ resource, name }) => `${resource} ${name}`),
    [
      "secrets global-pull-secret-state",
      "secrets global-pull-secret",
      `serviceaccounts ${syncer}`,
      `rbac.authorization.k8s.io/roles ${syncer}`,
      `rbac.authorization.k8s.io/rolebindings ${syncer}`,
      `apps/daemonsets ${syncer}`,
      "globalpullsecret.io/nodepullsecrets a",
    ],
  );
  await kubectl("get", "daemonset", syncer);
  await kubectl("get", "secret", "global-pull-secret");
});

test("H20, H21: deletes all objects when the Secret is deleted, and the controller's own state last", async () => {
  await deployed();
  const since = new Date().toISOString();
  await kubectl("delete", "secret", "additional-pull-secret");
  await plane.untilGone(on);
  // Counts only successful deletes: if an object changes at the same moment, the API server refuses
  // the delete, and the controller repeats it.
  const gone = () =>
    plane.requests(on, since).filter(({ verb, code }) => verb === "delete" && code === 200);
  const kinds = [
    "daemonsets",
    "rolebindings",
    "roles",
    "serviceaccounts",
    "nodepullsecrets",
    "secrets",
    "secrets",
  ];
  await until("the last one is audited", () => gone().length >= kinds.length);
  assert.deepEqual(
    gone().map(({ resource }) => resource.split("/").at(-1)),
    kinds,
  );
  await plane.untilEvent(on, "Removed");
});

test("H20: waits for the nodes if the recorded confirmation of a withdrawal is for another revision", async () => {
  const revision = await deployed();
  kubelets.starts.length = 0;
  const note = `globalpullsecret.io/released=${revision}`;
  await kubectl("annotate", "secret", "global-pull-secret", note);
  await kubectl("delete", "secret", "additional-pull-secret");
  await plane.untilGone(on);
  assert.deepEqual(
    kubelets.starts.map(({ node }) => node),
    ["a"],
  );
  assert.equal(kubelets.model.nodes[0]?.applied, undefined);
});

test("H7, H24: answers an invalid Secret with a Warning that names the path of the invalid key, and deploys nothing", async () => {
  await plane.declare(on, '{"auths":{"quay.io":{"auth":"%%%"}}}');
  const event = await plane.untilEvent(on, "Rejected", 'auths["quay.io"].auth');
  assert.equal(event.type, "Warning");
  assert.match(event.message, /^GPS1\d\d additional: .* \[kubectl pull-secret help GPS1\d\d\]$/);
  await stays(
    "nothing is deployed",
    async () => (await on.api.get(paths.global)) === undefined,
    1500,
  );
});

test("refuses a Secret of another type, and reports what to do", async () => {
  await on.cluster.apply(pullSecret("additional-pull-secret", first, { type: "Opaque" }));
  await plane.untilEvent(on, "Rejected", "GPS301");
});

test("H19: changes nothing when the Secret has other bytes with the same meaning", async () => {
  const revision = await deployed();
  // Waits for the status that the DaemonSet controller writes after our write.
  const { generation } = await until("the DaemonSet controller has observed the spec", async () => {
    const { metadata, status } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
    return status?.observedGeneration === metadata?.generation && metadata;
  });
  const remembered = () => on.api.get<V1Secret>(paths.state);
  const before = (await remembered())?.metadata?.resourceVersion;
  await plane.declare(
    on,
    JSON.stringify(JSON.parse(first.replace("quay.io", "https://quay.io/v2/")), undefined, 4),
  );
  await stays(
    "nothing changes",
    async () => (await plane.published(on))?.revision === revision,
    2000,
  );
  const now = (await on.api.get<V1DaemonSet>(paths.daemonSet))?.metadata;
  assert.equal(now?.generation, generation);
  // The controller must have read the rewritten Secret without writing its own record again.
  const version = (await on.api.get<V1Secret>(paths.additional))?.metadata?.resourceVersion;
  await until("the rewrite was seen", async () => {
    const { sources } = await statusOf(on);
    return sources?.[0]?.resourceVersion === version;
  });
  assert.equal((await remembered())?.metadata?.resourceVersion, before);
});

test("publishes a change as a new revision for the running pods, and does not change the template", async () => {
  const revision = await deployed();
  const observed = async () => (await on.api.get<V1DaemonSet>(paths.daemonSet))?.metadata;
  const before = await observed();
  const [pod] = await plane.agents(on);
  const other = document({ "quay.io": "robot:other" });
  const next = await plane.deployed(on, other);
  assert.ok(next > revision);
  assert.equal((await observed())?.generation, before?.generation);
  const [now] = await plane.agents(on);
  assert.equal(now?.metadata?.uid, pod?.metadata?.uid);
  const [object] = await plane.nodePullSecrets(on);
  assert.deepEqual([object?.spec.revision, object?.status?.revision], [next, next]);
});

test("H3, H9: delivers the original's rotation while additional-pull-secret is invalid", async () => {
  await plane.declare(on, document({ "quay.io": "orig:1", "o.example": "orig:1" }), "pull-secret");
  await plane.declare(on, first);
  await plane.untilPublished(
    on,
    document({ "o.example": "orig:1", "quay.io": `robot:${planted}` }),
  );
  await plane.declare(on, "{}");
  await plane.untilEvent(on, "Rejected", "last accepted entries stay in force");
  await plane.declare(on, document({ "quay.io": "orig:2", "o.example": "orig:2" }), "pull-secret");
  await plane.untilPublished(
    on,
    document({ "o.example": "orig:2", "quay.io": `robot:${planted}` }),
  );
});

test("merges an original that appears later, and removes nothing when it disappears", async () => {
  await deployed();
  await plane.declare(on, document({ "o.example": "orig:1" }), "pull-secret");
  const both = document({ "o.example": "orig:1", "quay.io": `robot:${planted}` });
  await plane.untilPublished(on, both);
  await kubectl("delete", "secret", "pull-secret");
  await plane.untilEvent(on, "OriginalRejected", "GPS303");
  assert.equal((await plane.published(on))?.document, both);
});

test("treats the Secret as removed while another owner's finalizer delays its deletion", async () => {
  await deployed();
  await kubectl(
    "patch",
    "secret",
    "additional-pull-secret",
    "-p",
    '{"metadata":{"finalizers":["example.com/slow"]}}',
  );
  await kubectl("delete", "secret", "additional-pull-secret", "--wait=false");
  await plane.untilGone(on);
  await kubectl(
    "patch",
    "secret",
    "additional-pull-secret",
    "-p",
    '{"metadata":{"finalizers":null}}',
  );
});

test("shows no credential in any log line, Event, annotation or status", async () => {
  await deployed();
  await plane.declare(on, `{"auths":{"quay.io":{"auth":"${planted}"}}}`);
  await plane.untilEvent(on, "Rejected");
  const everything = [
    controller.output(),
    JSON.stringify(await plane.eventsOf(on)),
    await kubectl("get", "daemonset,role,rolebinding,serviceaccount", "-o", "json"),
    JSON.stringify((await on.api.get<V1Secret>(paths.global))?.metadata?.annotations),
  ].join("\n");
  for (const form of [planted, Buffer.from(`robot:${planted}`).toString("base64")])
    assert.ok(!everything.includes(form));
});

test("at rest, sends only watch requests", async () => {
  await deployed();
  await until("the node's agent is available", async () => {
    const { status } = (await on.api.get<V1DaemonSet>(paths.daemonSet)) ?? {};
    return status?.numberAvailable === 1;
  });
  await restsFrom((since) => plane.requests(on, since));
});

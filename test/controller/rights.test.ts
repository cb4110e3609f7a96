/**
 * The rights of manifests/ are exactly the rights that the controller uses. Further tests show what
 * the controller does while the API server is away.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { longTest } from "../sample.ts";
import type { V1DaemonSet, V1Deployment, V1Lease, V1Secret } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import { granted, needed } from "./granted.ts";
import * as plane from "./plane.ts";
import { content, document, paths } from "./plane.ts";
import { condition, steer } from "./steer.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import { unwatched } from "./unwatched.ts";

let on: plane.Plane;
let kubelets: NodesDriver;

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  for (const name of ["a", "b", "c"]) await kubelets.add(name);
});
after(async () => {
  await kubelets[Symbol.asyncDispose]();
  await on[Symbol.asyncDispose]();
});

/** Cluster-wide resources that the controller requests. The empty string stands for discovery. */
const ofTheCluster =
  /^(?:|nodes|globalpullsecret\.io\/globalpullsecrets(?:\/status)?|admissionregistration\.k8s\.io\/validatingadmissionpolic(?:ies|ybindings))$/;
/**
 * Only these rights are not limited to one named object. A comment in manifests/ gives the reason
 * for each right.
 */
const unnamed = [
  "create events kube-system/*",
  "create globalpullsecret.io/nodepullsecrets kube-system/*",
  "delete globalpullsecret.io/nodepullsecrets kube-system/*",
  "get pods kube-system/*",
  "list globalpullsecret.io/nodepullsecrets kube-system/*",
  "list nodes *",
  "list pods kube-system/*",
  "patch globalpullsecret.io/nodepullsecrets kube-system/*",
  "patch globalpullsecret.io/nodepullsecrets/status kube-system/*",
  "watch globalpullsecret.io/nodepullsecrets kube-system/*",
  "watch nodes *",
  "watch pods kube-system/*",
];
/** The controller only grants this right to the agents. */
const onlyGranted = "patch globalpullsecret.io/nodepullsecrets/status kube-system/*";

const isAnswered = ({ code }: plane.Request) => code !== 403;
const refusals = () => plane.allRequests(on).filter((request) => !isAnswered(request));

/** The content with the original's entry. */
const merged = (word: string) => document({ "o.example": "orig:1", "quay.io": `robot:${word}` });

test("H22, H23: uses every right, and is never refused", async () => {
  const pod = { name: "controller-pod", namespace: "kube-system" };
  const containers = [{ name: "controller", image: plane.agentImage }];
  const imageID = `sha256:${"0".repeat(64)}`;
  const running = { ...containers[0], imageID, ready: true, restartCount: 0 };
  await on.cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: pod, spec: { containers } });
  const statusPatch = JSON.stringify({ status: { containerStatuses: [running] } });
  const its = ["pod", pod.name, "-n", pod.namespace, "--subresource=status"];
  await on.cluster.kubectl("patch", ...its, "-p", statusPatch);
  process.env["POD_NAME"] = pod.name;
  await on.cluster.kubectl("delete", "globalpullsecret", "cluster");
  const original = plane.pullSecret("pull-secret", document({ "o.example": "orig:1" }));
  await on.cluster.apply(original);
  await using controller = plane.startController(
    on.kubeconfig,
    "--original",
    "kube-system/pull-secret",
  );
  delete process.env["POD_NAME"];
  await until("the controller has created its object", () => condition(on, "Ready"));
  await steer(on, "100%");
  await plane.declare(on, content("one"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, merged("one")));
  const image = (await on.api.get<V1DaemonSet>(paths.daemonSet))?.spec?.template.spec?.containers[0]
    ?.image;
  assert.equal(image, plane.agentImage);
  await kubelets.die("c");
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, merged("two")));
  await kubelets.revive("c");
  await plane.clear(on);
  await controller.stop();
  assert.deepEqual(refusals(), []);

  const rights = await granted(on);
  assert.deepEqual(rights.filter((right) => right.endsWith("*")).toSorted(), unnamed);
  await inTrouble();
  const used = new Set(plane.allRequests(on).filter(isAnswered).flatMap(needed));
  // Rights to pods, Nodes and NodePullSecrets cannot name the objects, because the names are not
  // known beforehand.
  const isUsed = (right: string) =>
    used.has(right) ||
    right === onlyGranted ||
    (unnamed.includes(right) &&
      [...used].some((usedRight) => usedRight.startsWith(right.slice(0, -1))));
  assert.deepEqual(
    rights.filter((right) => !isUsed(right)),
    [],
  );
  await on.cluster.kubectl("delete", "secret", "pull-secret", "-n", "kube-system");
});

/**
 * Makes the controller request the policy and the original by their names. The controller does this
 * only while it has no watch, for example just after its start.
 */
async function inTrouble(): Promise<void> {
  const user = "system:serviceaccount:kube-system:global-pull-secret-controller";
  const original = { what: "secrets/pull-secret", namespace: "kube-system" };
  const its = ["role", "global-pull-secret-original", "-n", "kube-system"];
  const policy = "globalpullsecrets.globalpullsecret.io/cluster";
  const role = ["clusterrole", "global-pull-secret-controller"];
  {
    await using _original = await unwatched(on.cluster, { user, ...original, role: its });
    await using _policy = await unwatched(on.cluster, { user, what: policy, role });
    const flags = ["--original", "kube-system/pull-secret"];
    await using controller = plane.startController(on.kubeconfig, ...flags);
    await plane.declare(on, content("three"));
    await plane.untilPublished(on, merged("three"));
    await controller.stop();
  }
  await plane.wipe(on);
  kubelets.forget();
  const refused = new Set(refusals().flatMap(needed));
  assert.deepEqual([...refused].toSorted(), [
    "list globalpullsecret.io/globalpullsecrets cluster",
    "list secrets kube-system/pull-secret",
  ]);
}

test("H6, H22: watches only named objects, never all objects of a kind", () => {
  const watched = plane.allRequests(on).filter(({ verb }) => verb === "watch" || verb === "list");
  const whole = watched
    .filter(({ name }) => name === "")
    .map(({ verb, resource }) => `${verb} ${resource}`);
  const few = new Set(
    ["nodes", "pods", "globalpullsecret.io/nodepullsecrets"].flatMap((resource) => [
      `list ${resource}`,
      `watch ${resource}`,
    ]),
  );
  assert.deepEqual(
    [...new Set(whole)].filter((right) => !few.has(right)),
    [],
  );
  const elsewhere = plane
    .allRequests(on)
    .filter(
      ({ namespace, resource }) => namespace !== "kube-system" && !ofTheCluster.test(resource),
    );
  assert.deepEqual(elsewhere, []);
});

test("lets a drain always evict an unready controller, but a Ready controller only while another is Ready", async () => {
  type Budget = { spec: object };
  const name = "global-pull-secret-controller";
  const budget = await on.cluster.get<Budget>("poddisruptionbudget", name, "-n", "kube-system");
  const deployment = await on.cluster.get<V1Deployment>("deployment", name, "-n", "kube-system");
  const selector = deployment?.spec?.selector;
  assert.deepEqual(budget?.spec, {
    minAvailable: 1,
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector,
  });
  const manifest = await on.cluster.kubectl(
    "kustomize",
    join(import.meta.dirname, "../../manifests"),
  );
  assert.match(manifest, /^ {2}replicas: 2$/m);
});

test("sends few requests while the API server is away in the middle of a rollout, and continues when it is back", async () => {
  await using proxy = await TcpProxy.before(on.cluster.server);
  const kubeconfig = plane.kubeconfigBehind(proxy, on);
  await steer(on, 1);
  await using controller = plane.startController(kubeconfig);
  kubelets.starts.length = 0;
  await plane.declare(on, content("one"));
  await until("the rollout has begun", () => kubelets.starts.length > 0);
  const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
  const renewed = async () =>
    (await on.api.get<V1Lease>(`${lease}/global-pull-secret-controller`))?.spec?.renewTime;
  const last = await renewed();
  await until("the Lease is renewed", async () => (await renewed()) !== last, { every: 50 });
  proxy.shut();
  const before = proxy.tried;
  await plane.declare(on, content("two"));
  // After 10 s without the API server the controller would end, because it cannot renew its Lease.
  await stays("the controller does not give up", () => controller.exited() === undefined, 3000);
  // Seven watches, and a loop that reads seven objects each time, try again after 0.5, 1, 2 … s,
  // about 4 times each. In addition the Lease is renewed each second.
  assert.ok(proxy.tried - before <= 80, `${proxy.tried - before} connections in 3 s`);
  proxy.open();
  const revision = await until("the change is published", async () => {
    const now = await plane.published(on);
    return now?.document === content("two") && now.revision;
  });
  await plane.untilRolledOut(on, revision);
  await plane.clear(on);
  assert.equal(await controller.stop(), 0);
});

longTest(
  "ends with one log line when it cannot renew its Lease, and the next controller waits for the API server",
  async () => {
    await using proxy = await TcpProxy.before(on.cluster.server);
    const kubeconfig = plane.kubeconfigBehind(proxy, on);
    await steer(on, 1);
    await using controller = plane.startOnce(kubeconfig);
    kubelets.starts.length = 0;
    await plane.declare(on, content("one"));
    await until("the rollout has begun", () => kubelets.starts.length > 0);
    proxy.shut();
    await until("the controller ends", () => controller.exited() !== undefined, {
      timeout: 30_000,
    });
    assert.equal(controller.exited(), 1);
    assert.equal(controller.output().match(/the Lease is lost/g)?.length, 1, controller.output());
    await plane.declare(on, content("two"));
    // Starts the next controller, as the kubelet would.
    await steer(on, 1);
    await using next = plane.startController(kubeconfig);
    await stays("the next controller waits", () => next.exited() === undefined, 4000);
    proxy.open();
    await plane.untilRolledOut(on, await plane.untilPublished(on, content("two"), 90_000));
    await plane.clear(on);
    assert.equal(await next.stop(), 0);
  },
);

test("H6: delivers the next change within seconds after all connections of the idle controller were cut", async () => {
  await using proxy = await TcpProxy.before(on.cluster.server);
  const kubeconfig = plane.kubeconfigBehind(proxy, on);
  await steer(on, "100%");
  await using controller = plane.startController(kubeconfig);
  await plane.declare(on, content("one"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("one")));
  proxy.shut();
  proxy.open();
  const begun = performance.now();
  await plane.declare(on, content("two"));
  const revision = await plane.untilPublished(on, content("two"));
  // The controller replaces a silent watch only after 90 s, but must notice a cut connection
  // earlier.
  const seconds = (performance.now() - begun) / 1000;
  assert.ok(seconds < 45, `seen after ${seconds.toFixed(1)} s`);
  await plane.untilRolledOut(on, revision);
  await plane.clear(on);
  await controller.stop();
});

test("recreates objects that were deleted while all connections were cut, once it can connect again", async () => {
  await using proxy = await TcpProxy.before(on.cluster.server);
  const kubeconfig = plane.kubeconfigBehind(proxy, on);
  await steer(on, "100%");
  await using controller = plane.startController(kubeconfig);
  await plane.declare(on, content("one"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("one")));
  const global = async () => (await on.api.get<V1Secret>(paths.global))?.metadata?.uid ?? "";
  const daemonSet = async () =>
    (await on.api.get<V1DaemonSet>(paths.daemonSet))?.metadata?.uid ?? "";
  const before = [await global(), await daemonSet()];
  proxy.shut();
  await on.api.remove(paths.global, before[0] ?? "");
  await on.api.remove(paths.daemonSet, before[1] ?? "");
  await until(
    "both objects are gone",
    async () => (await global()) === "" && (await daemonSet()) === "",
  );
  proxy.open();
  await until(
    "both objects are back",
    async () => (await global()) !== "" && (await daemonSet()) !== "",
  );
  assert.ok(!before.includes(await global()) && !before.includes(await daemonSet()));
  await plane.untilPublished(on, content("one"));
  await plane.clear(on);
  await controller.stop();
});

test("uses only its watches in a rollout, but requests the DaemonSet before it deletes objects", async () => {
  await steer(on, "100%");
  await using controller = plane.startController(on.kubeconfig);
  await plane.declare(on, content("one"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("one")));
  const read = (since: string) =>
    plane
      .requests(on, since)
      .filter(({ verb, name }) => (verb === "get" || verb === "list") && name !== "");
  const rollout = new Date().toISOString();
  await plane.declare(on, content("two"));
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("two")));
  // After a write that conflicts with another client's write, the controller has to read the
  // object.
  const met = plane.requests(on, rollout).filter(({ code }) => code === 409);
  assert.ok(read(rollout).length <= met.length, JSON.stringify(read(rollout)));
  const removal = new Date().toISOString();
  await on.cluster.kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
  await plane.untilGone(on);
  const asked = plane.requests(on, removal);
  const first = asked.findIndex(({ verb }) => verb === "delete");
  const looked = asked
    .slice(0, first)
    .filter(({ verb, resource }) => verb === "get" && resource === "apps/daemonsets");
  assert.ok(looked.length > 0, "the DaemonSet was deleted on the informer's state alone");
  await plane.clear(on);
  await controller.stop();
});

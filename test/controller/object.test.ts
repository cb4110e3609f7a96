/** The object GlobalPullSecret on a real API server: the policy in its spec, and its status. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { stays, until } from "../cluster/await.ts";
import * as plane from "./plane.ts";
import { content, paths } from "./plane.ts";
import {
  begunAfter,
  kubelets,
  names,
  on,
  published,
  rig,
  running,
  served,
  start,
  undeclare,
} from "./rig.ts";
import { spacedStatus } from "./spaced-status.ts";
import { statusOf, steer, untilAvailable, untilCondition } from "./steer.ts";

rig();

const kubectl = (...args: string[]) => on.cluster.kubectl(...args);
const object = async () =>
  JSON.parse(
    await kubectl("get", "gps", "cluster", "-o", "json", "--show-managed-fields"),
  ) as GlobalPullSecret;

test("neither rolls out a change nor withdraws while Paused, and continues when Managed", async () => {
  const revision = await served("100%");
  await steer(on, { managementState: "Paused", rollout: { maxUnavailable: "100%" } });
  await untilCondition(on, "Ready", "True", "Paused");
  await plane.declare(on, content("two"));
  await untilCondition(on, "Stalled", "True", "Paused");
  await undeclare();
  await until("status reports that the withdrawal waits", async () =>
    ((await statusOf(on)).conditions ?? []).some(({ message }) =>
      message.startsWith("paused: a withdrawal"),
    ),
  );
  const isUnchanged = async () => (await plane.published(on))?.revision === revision;
  await stays("nothing is published", isUnchanged, 3000);
  await plane.declare(on, content("two"));
  await steer(on, "100%");
  await plane.untilRolledOut(on, await plane.untilPublished(on, content("two")));
});

test("when Withdrawn, removes everything but the user's Secret, and deploys again when Managed", async () => {
  await served("100%");
  await steer(on, { managementState: "Withdrawn", rollout: { maxUnavailable: "100%" } });
  await plane.untilGone(on);
  await untilCondition(on, "Ready", "True", "Withdrawn");
  assert.notEqual(await on.api.get(paths.additional), undefined);
  await steer(on, "100%");
  await plane.untilPublished(on, content("one"));
  await untilCondition(on, "Ready", "True", "InForce");
});

test("keeps the previous policy when spec exceeds the installer's limit, even after another controller takes over", async () => {
  await kubelets.add("d");
  const before = await served(2, "--max-unavailable-limit", "5");
  await until("the policy is taken", async () => {
    const { metadata, status } = await object();
    return status?.observedGeneration === metadata.generation;
  });
  await steer(on, 6);
  await untilCondition(on, "Stalled", "True", "NotAllowed");
  for (const controller of running.splice(0)) await controller.stop();
  const other = await start(6, "--max-unavailable-limit", "5");
  await until("the other controller leads", () =>
    other.output().includes("this controller writes"),
  );
  let isHeld = true;
  kubelets.behaviour = (node, revision) => {
    const [first = node] = begunAfter(before);
    return isHeld && revision > before && node !== first ? "hangs" : "ready";
  };
  const revision = await published("two");
  // After the first node three nodes are left. For these nodes the previous maxUnavailable of 2
  // still applies.
  await until("two more nodes are asked", () => kubelets.atWork === 2);
  await stays("no other node is asked", () => kubelets.atWork === 2, 2000);
  isHeld = false;
  await plane.untilRolledOut(on, revision);
});

test("reports the Secret's new version as served after only the Secret's metadata was edited", async () => {
  await served("100%");
  const metadata = { labels: { edited: "yes" } };
  await kubectl(
    "patch",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "-p",
    JSON.stringify({ metadata }),
  );
  const secret = JSON.parse(
    await kubectl("get", "secret", "additional-pull-secret", "-n", "kube-system", "-o", "json"),
  ) as { metadata: { resourceVersion: string } };
  const version = secret.metadata.resourceVersion;
  await until("both numbers equal the Secret's", async () => {
    const [source] = (await statusOf(on)).sources ?? [];
    return source?.resourceVersion === version && source.servedResourceVersion === version;
  });
  const managers = ((await object()).metadata.managedFields ?? []).filter(({ fieldsV1 }) =>
    Object.hasOwn(fieldsV1 ?? {}, "f:spec"),
  );
  assert.deepEqual(
    managers.map(({ manager }) => manager),
    ["test"],
  );
});

const crd = "manifests/chart/crds/globalpullsecrets.yaml";
const extra = { sources: [{ name: "team-a", secretRef: { name: "team-a-pull" } }] };
const documented = async (word: string) =>
  (await plane.published(on))?.document.includes(word) === true;
const isThere = () =>
  object().then(
    () => true,
    () => false,
  );

/**
 * Declares the additional source team-a with the right to read its Secret, and waits until its
 * entries are served.
 */
async function withExtra(): Promise<void> {
  await plane.declare(on, plane.document({ "extra.example": "e:1" }), "team-a-pull");
  const right = ["--verb=get,list,watch", "--resource=secrets", "--resource-name=team-a-pull"];
  const here = ["team-a-pull", "-n", "kube-system"];
  await kubectl("create", "role", ...here, ...right);
  const account = "--serviceaccount=kube-system:global-pull-secret-controller";
  await kubectl("create", "rolebinding", ...here, "--role=team-a-pull", account);
  await served("100%");
  await steer(on, { ...extra, rollout: { maxUnavailable: "100%" } });
  await until("the extra is in force", () => documented("extra.example"));
  await until("new nodes get it", async () => {
    const now = await plane.published(on);
    return now?.served === now?.revision;
  });
}

async function withoutExtra(): Promise<void> {
  const here = ["-n", "kube-system", "--ignore-not-found"];
  await kubectl("delete", "secret,role,rolebinding", "team-a-pull", ...here);
}

test("recreates a deleted object with the policy in force, and keeps the sources of an object that another client replaces", async (t) => {
  t.after(withoutExtra);
  await withExtra();
  const before = await plane.published(on);
  await kubectl("delete", "gps", "cluster");
  await until("the object is there again", isThere);
  const { spec } = await object();
  assert.equal(spec?.rollout?.maxUnavailable, "100%");
  assert.deepEqual(
    spec.sources?.map(({ name }) => name),
    ["team-a"],
  );
  assert.deepEqual(await plane.published(on), before);
  // Another client's object names no sources. When a source's Secret is then deleted, the
  // controller removes the entries of this source.
  await kubectl("delete", "gps", "cluster");
  await steer(on, "100%");
  await plane.untilEvent(on, "AcceptedWithWarnings", "GPS315 team-a:");
  await plane.declare(on, content("two"));
  await until("the change is delivered", () =>
    documented(Buffer.from("robot:two").toString("base64")),
  );
  assert.ok(await documented("extra.example"));
  await kubectl("delete", "secret", "team-a-pull", "-n", "kube-system");
  await until("the entries are removed", async () => !(await documented("extra.example")));
});

test("while the CRD is missing, withdraws nothing and delivers changes; recreates the object when the CRD is back", async (t) => {
  t.after(withoutExtra);
  await withExtra();
  await kubectl("delete", "crd", "globalpullsecrets.globalpullsecret.io");
  await plane.declare(on, content("two"));
  await until("the change is published", () =>
    documented(Buffer.from("robot:two").toString("base64")),
  );
  assert.ok(await documented("extra.example"));
  const [controller] = running;
  const warnings = () =>
    (controller?.output() ?? "")
      .split("\n")
      .filter((line) => line.includes("the CRD of GlobalPullSecret is missing"));
  await until("the log reports it", () => warnings().length > 0, { timeout: 60_000 });
  await kubectl("apply", "--server-side", "-f", crd);
  await until("the object is created", isThere, { timeout: 60_000 });
  assert.equal(warnings().length, 1);
  await untilCondition(on, "Ready", "True", "InForce");
  assert.ok(await documented("extra.example"));
});

test("corrects a status that another client has written, and then does not write status again", async () => {
  await served("100%");
  // This controller has the status of the first controller, until it writes its own.
  await steer(on, "90%");
  await until("the second controller has read the object", async () => {
    const { metadata, status } = await object();
    return status?.observedGeneration === metadata.generation;
  });
  await untilCondition(on, "Ready", "True", "InForce");
  await untilAvailable(on);
  // The DaemonSet controller's counts can lag, so the last write of status can still be due. The
  // controller writes status once a second.
  let shown: string | undefined;
  await until(
    "status is at rest",
    async () => {
      const before = shown;
      shown = (await object()).metadata.resourceVersion;
      return shown === before;
    },
    { every: 2000 },
  );
  const { nodes } = await statusOf(on);
  const status = { nodes: { ...nodes, summary: "planted" } };
  const how = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
  await kubectl("patch", "gps", "cluster", ...how);
  await until(
    "the status is ours",
    async () => (await statusOf(on)).nodes?.summary === nodes?.summary,
  );
  const version = (await object()).metadata.resourceVersion;
  await stays(
    "status is not written",
    async () => (await object()).metadata.resourceVersion === version,
    3000,
  );
});

test("applies a new maxUnavailable at once when spec is edited in the middle of a rollout, and begins no node twice", async () => {
  const before = await served(1);
  let isHeld = true;
  kubelets.behaviour = (_, revision) => (isHeld && revision > before ? "hangs" : "ready");
  const revision = await published("two");
  await until("the first node is asked", () => kubelets.atWork === 1);
  await steer(on, "100%");
  await until("both other nodes are asked, by the new budget", () => kubelets.atWork === 3);
  isHeld = false;
  await plane.untilRolledOut(on, revision);
  assert.deepEqual(kubelets.order(revision).toSorted(), names, "each node once");
  await untilCondition(on, "Ready", "True", "InForce");
});

test("lets the API server restore the default when the owner of a field of spec removes the field", async () => {
  await served(2);
  const apply = (spec: object) =>
    on.api.apply(
      "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets/cluster",
      {
        apiVersion: "globalpullsecret.io/v1alpha1",
        kind: "GlobalPullSecret",
        metadata: { name: "cluster" },
        spec,
      },
      { manager: "test", force: true },
    );
  const budget = async () => (await object()).spec?.rollout?.maxUnavailable;
  await apply({ rollout: { maxUnavailable: 3 } });
  assert.equal(await budget(), 3);
  await apply({});
  assert.equal(await budget(), "10%");
  await stays("the default stays", async () => (await budget()) === "10%", 2000);
});

test("writes status at most once a second while 24 nodes change, and never at rest", () =>
  spacedStatus(24));

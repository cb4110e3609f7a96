/**
 * Removes the product in each order that an administrator might choose, with the commands of
 * docs/use/uninstall.md. Each order leaves only the objects that the page names.
 */
import assert from "node:assert/strict";
import { longTest } from "../sample.ts";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { stays, until } from "../cluster/await.ts";
import { directEnvironment, run } from "../cluster/run.ts";
import { NodesDriver } from "#test/harness/nodes/drive.ts";
import * as plane from "./plane.ts";
import { document, ownPaths, paths } from "./plane.ts";
import { statusOf } from "./steer.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/use/uninstall.md"), "utf8");
const crd = "crd/globalpullsecrets.globalpullsecret.io";
const content = document({ "quay.io": "robot:one" });

let on: plane.Plane;
let kubelets: NodesDriver;
let controller: plane.Controller | undefined;

before(async () => {
  on = await plane.startPlane();
  kubelets = new NodesDriver(on.api).start();
  for (const name of ["a", "b"]) await kubelets.add(name);
});
after(async () => {
  await kubelets?.[Symbol.asyncDispose]();
  await on?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  await stop();
  await plane.wipe(on);
});

const kubectl = (...args: string[]) => on.cluster.kubectl(...args);

const steered = (merge: string) => kubectl("patch", "gps", "cluster", "--type=merge", "-p", merge);

/** Runs the commands below a heading of the page, as an administrator would from a checkout. */
async function follow(heading: string): Promise<string> {
  const section = page.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const commands = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, text]) => text);
  assert.ok(commands.length > 0, `${heading}: no commands`);
  const path = `${dirname(on.cluster.kit.parts.path("kubectl"))}:${process.env["PATH"]}`;
  const env = directEnvironment({ PATH: path, KUBECONFIG: on.cluster.kubeconfig });
  return await run(["timeout", "120", "sh", "-ec", commands.join("\n")], { env, cwd: root });
}

/**
 * Installs the objects as an administrator does. The controller runs as a local process with the
 * rights of its ServiceAccount.
 */
async function installed(): Promise<void> {
  const { kubeconfig } = await plane.installed(on.cluster);
  controller = plane.startController(kubeconfig);
  await until("the object is there", async () => (await statusOf(on)).conditions !== undefined);
  await steered('{"spec":{"rollout":{"maxUnavailable":"100%"},"withdrawal":{"grace":"0s"}}}');
}

async function served(): Promise<void> {
  await installed();
  await plane.deployed(on, content);
}

async function stop(): Promise<void> {
  await controller?.[Symbol.asyncDispose]();
  controller = undefined;
  // Deletes the Lease, because a controller whose rights were deleted cannot release it.
  await plane.freeLease(on);
}

const countRemaining = async () =>
  (await Promise.all(ownPaths.map((path) => on.api.get(path)))).filter(Boolean).length;
const isDefined = async () => (await kubectl("get", crd, "--ignore-not-found")) !== "";
const additional = () => on.api.get<V1Secret>(paths.additional);

/** Lists the remaining objects of the installation in the whole cluster. */
const installation = async () =>
  await kubectl(
    "get",
    "deployment,serviceaccount,role,rolebinding,poddisruptionbudget",
    "--namespace=kube-system",
    "--output=name",
    "--field-selector=metadata.name=global-pull-secret-controller",
  );

test("leaves only the user's Secret when our entries are removed from the nodes first", async () => {
  await served();
  await follow("The nodes first");
  await stop();
  assert.equal(await countRemaining(), 0);
  assert.equal(await isDefined(), false);
  assert.equal(await installation(), "");
  assert.notEqual(await additional(), undefined);
});

test("after a withdrawal, deploys nothing again when first the CRD and then all other objects are deleted", async () => {
  await served();
  await steered('{"spec":{"managementState":"Withdrawn"}}');
  await plane.untilGone(on);
  await kubectl("delete", crd, "--timeout=60s");
  await stays(
    "none of our objects is created again",
    async () => (await countRemaining()) === 0,
    5000,
  );
  await kubectl("delete", "-k", join(root, "manifests"), "--ignore-not-found", "--timeout=60s");
  await stop();
  assert.equal(await countRemaining(), 0);
});

longTest(
  "leaves the nodes' files when all manifests are deleted at once, and can clean the nodes after a new installation",
  async () => {
    await served();
    await kubectl("delete", "-k", join(root, "manifests"), "--timeout=60s");
    await stop();
    assert.equal(await countRemaining(), ownPaths.length);
    const output = await follow("The controller went first");
    assert.match(output, /daemonset.apps\/global-pull-secret-syncer/);
    await installed();
    await follow("The nodes first");
    assert.equal(await countRemaining(), 0);
  },
);

longTest(
  "withdraws with a new controller when the first controller was deleted before the Secret",
  async () => {
    await served();
    await stop();
    await kubectl("delete", "deployment", "global-pull-secret-controller", "-n", "kube-system");
    await kubectl("delete", "secret", "additional-pull-secret", "-n", "kube-system");
    assert.equal(await countRemaining(), ownPaths.length);
    await installed();
    await plane.untilGone(on);
  },
);

longTest(
  "keeps the entries when the CRD is deleted first, and withdraws them with the page's commands",
  async () => {
    await served();
    await kubectl("delete", crd, "--timeout=60s");
    assert.equal(await countRemaining(), ownPaths.length);
    await follow("The CRD went first");
    await stop();
    assert.equal(await countRemaining(), 0);
    assert.equal(await installation(), "");
  },
);

test("cleans the cluster without a controller, with the page's commands", async () => {
  await served();
  await stop();
  await kubectl("delete", "-k", join(root, "manifests"), "--timeout=60s");
  await follow("Without a controller");
  assert.equal(await countRemaining(), 0);
});

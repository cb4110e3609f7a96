/**
 * Kills joins and removals after each of their requests. If anything is left, `fleet list` shows
 * the join, and the next join or removal succeeds. One real API server is both the host and the
 * joined cluster, which is allowed. By default the tests kill only after every ninth request.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { type KubernetesObject } from "@kubernetes/client-node";
import { fleetOwnerAnnotation } from "#contract/names.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { commands } from "#plugin/commands.ts";
import { Refused, type Io } from "#plugin/terminal/io.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { writeKubeconfig } from "../controller/plane.ts";
import { profileIn, tokenIn } from "./clusters.ts";
import { everyPoint } from "../sample.ts";
import { installCrd } from "./inventory.ts";

/**
 * Between two tries, the number of requests before the kill grows by this step. The step is odd, so
 * the numbers are even and odd in turn: after an even number the test removes the join, after an
 * odd number the test repeats the join.
 */
const step = everyPoint ? 1 : 9;

const joinLine = ["here", "--context", "here"];
const targets = ["kube-system/pull-secret", "web/pull-secret"];

let cluster: Cluster;
let admin: Api;
let hostId = "";

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  await installCrd(cluster);
  for (const name of [clustersNamespace, "web"]) await cluster.kubectl("create", "namespace", name);
  const config = loadKubeConfig(cluster.kubeconfig);
  admin = connect(config, () => {});
  const system = await admin.get<KubernetesObject>("/api/v1/namespaces/kube-system");
  hostId = system?.metadata?.uid ?? "";
});
after(() => cluster.down());

/**
 * The number of requests that the process can still send. After these requests the process counts
 * as killed.
 */
type Left = { requests: number };

class Killed extends Error {}

function counted(api: Api, left: Left): Api {
  return new Proxy(api, {
    get(target, name: keyof Api) {
      const method: unknown = target[name];
      if (typeof method !== "function") return method;
      return (...given: unknown[]): unknown => {
        left.requests -= 1;
        if (left.requests < 0) return Promise.reject(new Killed("killed"));
        return (method as (...all: unknown[]) => unknown).apply(target, given);
      };
    },
  });
}

/**
 * Runs a command and kills it after `most` requests. Returns true if the command finished before.
 */
async function run(name: "fleet join" | "fleet remove", most = Infinity): Promise<boolean> {
  const left = { requests: most };
  const authority = readFileSync(cluster.ca).toString("base64");
  const address = { server: cluster.server, "certificate-authority-data": authority };
  const io = {
    out: () => {},
    err: () => {},
    contexts: () => Promise.resolve(["here"]),
    place: () => Promise.resolve(address),
    reach: ({ token }: { token?: string }) => {
      if (token === undefined) return Promise.resolve(counted(admin, left));
      const config = loadKubeConfig(writeKubeconfig(cluster, "joined", cluster.server, token));
      return Promise.resolve(
        counted(
          connect(config, () => {}),
          left,
        ),
      );
    },
  } as unknown as Io;
  const secrets = targets.flatMap((one) => ["--secret", one]);
  const argv = name === "fleet join" ? [...joinLine, ...secrets] : ["here", "--yes"];
  try {
    assert.equal(await commands[name]?.run(name, argv, io), 0);
    return true;
  } catch (error) {
    const isKilled = error instanceof Killed || error instanceof Refused;
    if (!isKilled || left.requests >= 0) throw error;
    return false;
  }
}

const kinds = [
  "serviceaccounts",
  "secrets",
  "roles",
  "rolebindings",
  "clusterroles",
  "clusterrolebindings",
  "validatingadmissionpolicies",
  "validatingadmissionpolicybindings",
];

/**
 * The objects in the cluster that a join has created, or that a FleetSecret of this host has
 * placed.
 */
async function createdObjects(): Promise<readonly string[]> {
  const { items } = JSON.parse(
    await cluster.kubectl("get", kinds.join(","), "-A", "-o", "json"),
  ) as { items: KubernetesObject[] };
  return items.flatMap(({ kind, metadata }) => {
    const { annotations = {}, namespace, name } = metadata ?? {};
    const ours = annotations["globalpullsecret.io/joined-by"] ?? annotations[fleetOwnerAnnotation];
    return ours?.startsWith(`${hostId}/`) === true ? [`${kind} ${namespace ?? ""}/${name}`] : [];
  });
}

async function assertNothing(where: string): Promise<void> {
  assert.deepEqual(await createdObjects(), [], where);
  assert.equal(await profileIn(cluster, "here"), undefined, where);
  // The garbage collector deletes the token some time after the profile.
  await until(`${where}: the token is deleted`, async () => !(await tokenIn(cluster, "here")));
}

async function assertJoined(where: string): Promise<void> {
  const all = await createdObjects();
  // A join creates the account, its Secret, two policies with bindings, and three Roles with
  // bindings.
  assert.equal(all.length, 2 + 4 + 6, `${where}: ${all.join(", ")}`);
  assert.ok(await profileIn(cluster, "here"), where);
  assert.ok((await tokenIn(cluster, "here"))?.data?.["token"], where);
}

/** Places Secrets as a FleetSecret of this host does. */
async function place(): Promise<void> {
  const annotations = { [fleetOwnerAnnotation]: `${hostId}/kube-system/pull-secret` };
  for (const target of targets) {
    const [namespace = "", name = ""] = target.split("/");
    const metadata = { name, namespace, annotations };
    await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata });
  }
}

test("finishes or removes a join that was killed after any of its requests", async () => {
  let ended = false;
  for (let requests = 0; !ended; requests += step) {
    const where = `killed after ${requests} requests`;
    ended = await run("fleet join", requests);
    const found = (await profileIn(cluster, "here")) !== undefined;
    if ((await createdObjects()).length > 0) assert.ok(found, `${where}: the join is not listed`);
    if (found && requests % 2 === 0) assert.ok(await run("fleet remove"), where);
    else {
      assert.ok(await run("fleet join"), where);
      await assertJoined(where);
      assert.ok(await run("fleet remove"), where);
    }
    await assertNothing(where);
  }
});

test("finishes a removal in a second run if the first run was killed after any of its requests", async () => {
  let ended = false;
  for (let requests = 0; !ended; requests += step) {
    const where = `killed after ${requests} requests`;
    assert.ok(await run("fleet join"), where);
    await place();
    ended = await run("fleet remove", requests);
    if (!ended) assert.ok(await run("fleet remove"), where);
    await assertNothing(where);
  }
});

test("can join a cluster again after its removal was killed", async () => {
  for (const requests of everyPoint ? [12, 18, 24] : [18]) {
    assert.ok(await run("fleet join"));
    await place();
    assert.equal(await run("fleet remove", requests), false);
    assert.ok(await run("fleet join"), `killed after ${requests} requests`);
    assert.ok(await run("fleet remove"));
    await assertNothing(`killed after ${requests} requests`);
  }
});

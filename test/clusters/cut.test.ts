/**
 * Joins and removals that are killed after each of their requests: what is left is always found,
 * and the next join or removal ends as if nothing had happened. One real API server, which is host
 * and joined cluster at once, as a host may be. Every ninth request here, each in cut.long.test.ts.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { type KubernetesObject } from "@kubernetes/client-node";
import { fleetOwnerAnnotation } from "#contract/names.ts";
import { clustersNamespace, expiresAnnotation, issuedAnnotation } from "#contract/joined.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Cluster as Api } from "#kube/client/cluster.ts";
import { commands } from "#plugin/commands.ts";
import { Refused, type Io } from "#plugin/terminal/io.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { writeKubeconfig } from "../controller/plane.ts";
import { profileIn, tokenIn } from "./clusters.ts";
import { everyPoint } from "../sample.ts";
import { define } from "./inventory.ts";

/** An odd step, so that half of the joins are gone on with and half are removed. */
const step = everyPoint ? 1 : 9;

const joinLine = ["here", "--context", "here"];
const targets = ["kube-system/pull-secret", "web/pull-secret"];

let cluster: Cluster;
let admin: Api;
let hostId = "";

before(async () => {
  cluster = await startCluster({ nodes: 0, apiServer: { longestToken: 3600 } });
  await define(cluster);
  for (const name of [clustersNamespace, "web"]) await cluster.kubectl("create", "namespace", name);
  const config = loadKubeConfig(cluster.kubeconfig);
  admin = connect(config, () => {});
  const system = await admin.get<KubernetesObject>("/api/v1/namespaces/kube-system");
  hostId = system?.metadata?.uid ?? "";
});
after(() => cluster.down());

/** Requests that are still let through: a process that was killed makes none. */
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

/** Runs a command, which is killed after so many requests; true when it came to its end. */
async function run(name: "clusters join" | "clusters remove", most = Infinity): Promise<boolean> {
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
  const argv = name === "clusters join" ? [...joinLine, ...secrets] : ["here", "--yes"];
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

/** What a join has made there, or a FleetSecret of this host has placed. */
async function made(): Promise<readonly string[]> {
  const { items } = JSON.parse(
    await cluster.kubectl("get", kinds.join(","), "-A", "-o", "json"),
  ) as { items: KubernetesObject[] };
  return items.flatMap(({ kind, metadata }) => {
    const { annotations = {}, namespace, name } = metadata ?? {};
    const ours = annotations["globalpullsecret.io/joined-by"] ?? annotations[fleetOwnerAnnotation];
    return ours?.startsWith(`${hostId}/`) === true ? [`${kind} ${namespace ?? ""}/${name}`] : [];
  });
}

async function nothing(where: string): Promise<void> {
  assert.deepEqual(await made(), [], where);
  assert.equal(await profileIn(cluster, "here"), undefined, where);
  // With its profile, by the garbage collector.
  await until(`${where}: no token is kept`, async () => !(await tokenIn(cluster, "here")));
}

async function joined(where: string): Promise<void> {
  const all = await made();
  // The account, its Secret, two policies with bindings, three Roles with bindings.
  assert.equal(all.length, 2 + 4 + 6, `${where}: ${all.join(", ")}`);
  assert.ok(await profileIn(cluster, "here"), where);
  assert.ok((await tokenIn(cluster, "here"))?.data?.["token"], where);
}

/** As a FleetSecret of this host does it. */
async function place(): Promise<void> {
  const annotations = { [fleetOwnerAnnotation]: `${hostId}/kube-system/pull-secret` };
  for (const target of targets) {
    const [namespace = "", name = ""] = target.split("/");
    const metadata = { name, namespace, annotations };
    await cluster.apply({ apiVersion: "v1", kind: "Secret", metadata });
  }
}

test("an API server that gives a token for an hour is believed, whatever was asked for", async () => {
  assert.ok(await run("clusters join"));
  const { annotations = {} } = (await tokenIn(cluster, "here"))?.metadata ?? {};
  const time = (name: string) => Date.parse(annotations[name] ?? "");
  const seconds = (time(expiresAnnotation) - time(issuedAnnotation)) / 1000;
  assert.ok(seconds > 3590 && seconds <= 3605, `${seconds} s`);
  assert.ok(await run("clusters remove"));
});

test("a join that is killed after any of its requests is found, and joined again or removed", async () => {
  let ended = false;
  for (let requests = 0; !ended; requests += step) {
    const where = `killed after ${requests} requests`;
    ended = await run("clusters join", requests);
    const found = (await profileIn(cluster, "here")) !== undefined;
    if ((await made()).length > 0) assert.ok(found, `${where}: nobody would know`);
    if (found && requests % 2 === 0) assert.ok(await run("clusters remove"), where);
    else {
      assert.ok(await run("clusters join"), where);
      await joined(where);
      assert.ok(await run("clusters remove"), where);
    }
    await nothing(where);
  }
});

test("a removal that is killed after any of its requests is ended by the next, and forgets nothing that was placed", async () => {
  let ended = false;
  for (let requests = 0; !ended; requests += step) {
    const where = `killed after ${requests} requests`;
    assert.ok(await run("clusters join"), where);
    await place();
    ended = await run("clusters remove", requests);
    if (!ended) assert.ok(await run("clusters remove"), where);
    await nothing(where);
  }
});

test("a removal that is killed leaves a cluster that can be joined again", async () => {
  for (const requests of everyPoint ? [12, 18, 24] : [18]) {
    assert.ok(await run("clusters join"));
    await place();
    assert.equal(await run("clusters remove", requests), false);
    assert.ok(await run("clusters join"), `killed after ${requests} requests`);
    assert.ok(await run("clusters remove"));
    await nothing(`killed after ${requests} requests`);
  }
});

/**
 * Mode Runtime on nodes with containerd, a registry with a password, one with a token service, and
 * a mirror. No kubelet is restarted, and no config.json is written.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import type { Node } from "../cluster/node.ts";
import { auths, fileMark, kubelets, pullRecords } from "./nodes.ts";
import { podOn, pullRefused, untilState } from "./pods.ts";
import * as product from "./product.ts";
import { tokenGateway } from "./token-gateway.ts";

let cluster: Cluster;
let gateway: Awaited<ReturnType<typeof tokenGateway>>;
const ended = new AbortController();
/** `first` identifies each kubelet's process, and `marks` each config.json. */
let first: readonly string[];
let marks: readonly string[];
let tags = 0;

const [tokenHost, mirroredHost] = ["token.example", "mirrored.example"] as const;
const hostsFile = (node: Node, host: string) =>
  join(node.rootfs, "etc/containerd/certs.d", host, "hosts.toml");
const hostsOf = (node: Node, host: string): string => readFileSync(hostsFile(node, host), "utf8");

/** What the owner of the node has configured. */
const declared = (): Readonly<Record<string, string>> => ({
  [tokenHost]: `server = "http://${gateway.address}"\n`,
  [mirroredHost]: `# A mirror\n[host."http://${cluster.registry.address}"]\n  capabilities = ["pull", "resolve"]`,
});

function configureHosts(node: Node): void {
  for (const [host, text] of Object.entries(declared())) {
    mkdirSync(dirname(hostsFile(node, host)), { recursive: true });
    writeFileSync(hostsFile(node, host), text, { mode: 0o644 });
  }
}

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  const { publicAddress, machine } = cluster.registry;
  gateway = await tokenGateway(publicAddress, machine, ended.signal);
  await Promise.all([1, 2].map(() => cluster.addNode({ before: configureHosts })));
  await product.installProduct(cluster, {
    args: ["--delivery-modes=Reread,Runtime", "--containerd-directory=/etc/containerd"],
    settings: { delivery: { mode: "Runtime" } },
  });
  first = await kubelets(cluster);
  marks = await Promise.all(cluster.nodes.map(fileMark));
});
after(() => {
  ended.abort();
  return cluster?.down();
});

const entry = (user: string, password: string) => ({
  auth: Buffer.from(`${user}:${password}`).toString("base64"),
});

/** Declares the credentials of the registry, of the mirror and of the registry with tokens. */
async function declare(more: Readonly<Record<string, object>> = {}): Promise<void> {
  const { registry } = cluster;
  const additional = registry.auth("additional");
  const entries = {
    [registry.host]: additional,
    [registry.address]: additional,
    [tokenHost]: entry("robot", gateway.password),
    ...more,
  };
  await product.writeAdditional(cluster, JSON.stringify({ auths: entries }));
}

/** What the nodes report. */
async function reports(): Promise<unknown> {
  const list = await cluster.get<{ items: { spec?: object; status?: object }[] }>(
    "nodepullsecrets",
    "-n",
    "kube-system",
  );
  return list?.items.map(({ spec, status }) => ({ spec, status }));
}

/** A new image in a registry, by the name that nodes use. */
async function newImage(host: string): Promise<string> {
  tags += 1;
  const path = `team/app:${tags}`;
  const { registry, kit } = cluster;
  if (host === tokenHost) await registry.push(kit.images.app, path, "public.example");
  else await cluster.pushApp(path);
  return `${host}/${path}`;
}

/** Creates one pod on each node, which pulls the image. Returns the pods' names. */
async function pods(image: string, policy = "IfNotPresent"): Promise<string[]> {
  const created = cluster.nodes.map((node) => ({
    name: `p${tags}-${policy.toLowerCase()}-${node.name}`,
    object: podOn(node, `p${tags}-${policy.toLowerCase()}-${node.name}`, image) as {
      spec: { containers: object[] };
    },
  }));
  const withPolicy = created.map(({ object }) => {
    const containers = object.spec.containers.map((container) =>
      Object.assign({ imagePullPolicy: policy }, container),
    );
    return { ...object, spec: { ...object.spec, containers } };
  });
  await cluster.apply(...withPolicy);
  return created.map(({ name }) => name);
}

async function arePulled(image: string, policy?: string): Promise<void> {
  for (const name of await pods(image, policy)) await untilState(cluster, name, "Running");
}

async function areRefused(image: string): Promise<readonly string[]> {
  const names = await pods(image);
  for (const name of names) await untilState(cluster, name, ...pullRefused);
  return names;
}

async function nothingRestarted(): Promise<void> {
  assert.deepEqual(await kubelets(cluster), first);
  assert.deepEqual(await Promise.all(cluster.nodes.map(fileMark)), marks);
}

test("H1, H4, H5: serves a registry with a password, one with tokens and a mirror by hosts.toml alone", async () => {
  await areRefused(await newImage(cluster.registry.host));
  await declare();
  await product.untilServed(cluster);
  for (const host of [cluster.registry.host, tokenHost, mirroredHost])
    await arePulled(await newImage(host));
  assert.ok(gateway.asked.includes("robot"));
  for (const node of cluster.nodes) {
    assert.deepEqual(auths(node), {});
    assert.deepEqual(await pullRecords(node, "team/app"), [{ nodePodsAccessible: true }]);
    assert.equal(statSync(hostsFile(node, tokenHost)).mode & 0o777, 0o600);
  }
  await nothingRestarted();
});

test("serves waiting pods and pods that pull always after a rotation, and restarts no kubelet", async () => {
  const served = (await product.revision(cluster)) ?? 0;
  const additional = randomBytes(18).toString("base64url");
  await cluster.registry.setUsers({ ...cluster.registry.users, additional });
  gateway.password = "second";
  const image = await newImage(cluster.registry.host);
  const waiting = await areRefused(image);
  await declare();
  await product.untilServed(cluster, served);
  for (const name of waiting) await untilState(cluster, name, "Running");
  await arePulled(image, "Always");
  await arePulled(await newImage(tokenHost));
  await nothingRestarted();
});

test("pulls a public image although its registry refuses the credential", async () => {
  gateway.isPublic = true;
  gateway.password = "third";
  gateway.asked.length = 0;
  await arePulled(await newImage(tokenHost));
  assert.deepEqual([...new Set(gateway.asked)].toSorted(), ["", "robot!"]);
});

test("ends a pull during which the credential changes, and uses the new one for the next", async () => {
  gateway.isPublic = false;
  gateway.password = "second";
  const opening = Promise.withResolvers<void>();
  Object.assign(gateway, { opening: opening.promise, admitted: 0 });
  const during = await pods(await newImage(tokenHost));
  await until("each node pulls", () => Promise.resolve(gateway.admitted >= cluster.nodes.length));
  const served = (await product.revision(cluster)) ?? 0;
  gateway.password = "third";
  await declare();
  await product.untilServed(cluster, served);
  opening.resolve();
  for (const name of during) await untilState(cluster, name, "Running");
  await arePulled(await newImage(tokenHost));
  await nothingRestarted();
});

test("pulls the image of pods' sandboxes from the private registry, after a restart of containerd", async () => {
  const { registry, kit } = cluster;
  const sandbox = await registry.push(kit.images.app, "pause/private:1");
  for (const node of cluster.nodes) {
    const config = join(node.rootfs, "etc/containerd/config.toml");
    const text = readFileSync(config, "utf8").replace(/sandbox = .*/, `sandbox = "${sandbox}"`);
    writeFileSync(config, text);
    await node.exec(["systemctl", "restart", "containerd.service"]);
  }
  await arePulled(await newImage(registry.host));
  const paths = registry.accesses().map(({ user, path }) => `${user} ${path}`);
  assert.ok(paths.some((line) => line.startsWith("additional /v2/pause/private/")));
  await nothingRestarted();
});

/** The file that the agent has created for the mirror's own host. */
const ownFile = (node: Node): string =>
  hostsFile(node, cluster.registry.address.replace(/:(\d+)$/, "_$1_"));

test("restores its lines after another program has replaced or removed a file", async () => {
  for (const node of cluster.nodes) {
    rmSync(hostsFile(node, tokenHost));
    writeFileSync(hostsFile(node, tokenHost), `# new\n${declared()[tokenHost]}`, { mode: 0o644 });
    rmSync(ownFile(node));
  }
  for (const node of cluster.nodes)
    await until(
      "the lines are back",
      () =>
        Promise.resolve(
          hostsOf(node, tokenHost).includes("Authorization") && existsSync(ownFile(node)),
        ),
      { timeout: 60_000 },
    );
  await nothingRestarted();
});

test("leaves an entry with a path in config.json, and one that hosts.toml cannot serve", async () => {
  const others = '[header]\nAuthorization = "Basic eDp5"\n';
  for (const node of cluster.nodes) {
    const file = hostsFile(node, "taken.example");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, others);
  }
  const path = "path.example/only";
  await declare({ "taken.example": entry("u", "p"), [path]: entry("u", "p") });
  const both = [path, "taken.example"].toSorted().join();
  // One node goes first. It has proved the content once its kubelet has read config.json again.
  await until(
    "config.json of one node has both",
    () =>
      Promise.resolve(
        cluster.nodes.some((node) => Object.keys(auths(node)).toSorted().join() === both),
      ),
    { timeout: 60_000, seen: reports },
  );
  for (const node of cluster.nodes) assert.equal(hostsOf(node, "taken.example"), others);
  assert.deepEqual(await kubelets(cluster), first);
});

test("H20, H21: gives every file back byte for byte when the Secret is deleted", async () => {
  await product.deleteAdditional(cluster);
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) {
    assert.equal(hostsOf(node, tokenHost), `# new\n${declared()[tokenHost]}`);
    assert.equal(statSync(hostsFile(node, tokenHost)).mode & 0o777, 0o644);
    assert.equal(hostsOf(node, mirroredHost), declared()[mirroredHost]);
    assert.ok(!existsSync(ownFile(node)));
    assert.equal(node.readFile("global-pull-secret/journal.json"), undefined);
  }
  await areRefused(await newImage(cluster.registry.host));
  await nothingRestarted();
});

/**
 * The agent writes the answer of a real kubelet's credential provider. Only a real kubelet can
 * prove that pulls work.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";
import { providerFiles, secretKeys, secretType } from "#contract/names.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { until } from "../cluster/await.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import type { Node as Machine } from "../cluster/node.ts";
import { podOn, pullRefused, untilState } from "../e2e/pods.ts";
import { encode } from "../harness/agent/agent.ts";
import { Inside } from "./inside.ts";
import { answeredPasswords, installProvider, kubeadmFlags } from "./provider.ts";

let cluster: Cluster;
let inside: Inside;
let machine: Machine;
let revision = 0;

const flags = ["--delivery=CredentialProvider", "--restart=Never"];

before(async () => {
  cluster = await startCluster({ nodes: 1 });
  const [first] = cluster.nodes;
  assert.ok(first);
  machine = first;
  inside = await Inside.on(machine, cluster);
  installProvider(inside.node.kubelet);
  machine.writeFile("kubeadm-flags.env", kubeadmFlags());
  await machine.exec(["systemctl", "restart", "kubelet"]);
});

after(() => {
  inside?.[Symbol.dispose]();
  cluster?.down();
});

/** Changes the password in the registry, and delivers this password as the next revision. */
async function rotate(): Promise<string> {
  const { registry } = cluster;
  const password = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, user: password });
  await serve({ additional: { [registry.host]: password } });
  return password;
}

async function serve(content: Parameters<Inside["node"]["mount"]>[1]): Promise<void> {
  await inside.kill("SIGTERM");
  revision += 1;
  inside.node.mount(revision, content);
  await inside.start(revision, ...flags);
}

/** Runs a pod with an image that is not on the node. */
async function pull(name: string): Promise<void> {
  const image = await cluster.pushApp(`team/app:${name}`);
  await cluster.apply(podOn(machine, name, image));
}

/** Runs a pod that names a pull secret. */
async function pullWith(name: string, image: string, auth: string): Promise<void> {
  const document = JSON.stringify({ auths: { [cluster.registry.host]: { auth } } });
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "default" },
    type: secretType,
    stringData: { [secretKeys.document]: document },
  };
  const pod = podOn(machine, name, image) as { spec: object };
  await cluster.apply(secret, { ...pod, spec: { ...pod.spec, imagePullSecrets: [{ name }] } });
}

test("lets pulls succeed after each rotation and fail after a withdrawal, with the same kubelet process", async (t) => {
  const { InvocationID } = await inside.kubelet();
  await pull("early");
  await untilState(cluster, "early", ...pullRefused);
  for (const name of ["first", "second", "third"]) {
    await rotate();
    await inside.proves();
    const began = performance.now();
    await pull(name);
    await untilState(cluster, name, "Running");
    t.diagnostic(`${name}: pulled and running ${Math.round(performance.now() - began)} ms later`);
  }
  assert.equal(inside.node.file, undefined, "config.json contains entries of ours");
  const { mode } = statSync(join(inside.node.kubelet, providerFiles.answer));
  assert.equal(mode & 0o777, 0o600);
  assert.ok(machine.readFile(providerFiles.stamp), "the script left no stamp");
  await serve({});
  await inside.removes();
  assert.deepEqual(answeredPasswords(inside.node.kubelet), {});
  await pull("late");
  await untilState(cluster, "late", ...pullRefused);
  assert.equal((await inside.kubelet()).InvocationID, InvocationID);
});

test("once the kubelet has used the provider, removes the node's own entry for the same registry, and restores this entry in a withdrawal", async () => {
  const { host } = cluster.registry;
  const theirs = JSON.stringify({ auths: { [host]: { auth: "dGhlaXJzOm9sZA==" } } });
  machine.writeFile("config.json", theirs);
  await rotate();
  await inside.proves();
  assert.equal(inside.node.file, '{"auths":{}}');
  // The pull works although the kubelet might still remember the node's own entry, which the
  // registry refuses.
  await pull("displaced");
  await untilState(cluster, "displaced", "Running");
  await serve({});
  // The agent restores config.json before it empties the answer.
  const isEmpty = () => Object.keys(answeredPasswords(inside.node.kubelet) ?? {}).length === 0;
  await until("the answer is empty", () => Promise.resolve(isEmpty()));
  assert.equal(inside.node.file, theirs);
  machine.writeFile("config.json", undefined);
});

test("lets pulls use other credentials while the provider's script is killed, broken or missing", async () => {
  const auth = encode(await rotate());
  await inside.proves();
  const file = join(inside.node.kubelet, providerFiles.script);
  const right = readFileSync(file);
  const { InvocationID } = await inside.kubelet();
  const spoilt = [
    ["killed", "#!/bin/sh\nkill -9 $$\n"],
    ["rubbish", "#!/bin/sh\necho '{'\n"],
    ["gone", undefined],
  ] as const;
  for (const [name, text] of spoilt) {
    if (text === undefined) rmSync(file);
    else writeFileSync(file, text, { mode: 0o700 });
    await pull(`only-${name}`);
    await untilState(cluster, `only-${name}`, ...pullRefused);
    // The pod's own pull secret is another credential.
    await pullWith(`own-${name}`, await cluster.pushApp(`team/app:own-${name}`), auth);
    await untilState(cluster, `own-${name}`, "Running");
    writeFileSync(file, right, { mode: 0o700 });
    await untilState(cluster, `only-${name}`, "Running");
  }
  assert.equal((await inside.kubelet()).InvocationID, InvocationID);
});

/** The users that pulled the image of this pod, from the registry's log. */
async function pulledBy(name: string): Promise<string[]> {
  await untilState(cluster, name, "Running");
  const its = cluster.registry
    .accesses()
    .filter(({ path }) => path.startsWith(`/v2/order/${name}/`));
  return [...new Set(its.map(({ user }) => user))].filter((user) => user !== "pusher");
}

test("the kubelet tries the pod's own pull secret first, then config.json, then the provider", async () => {
  // A running agent would remove from config.json the entries that are also in the answer.
  await inside.kill("SIGTERM");
  const { registry } = cluster;
  const password = randomBytes(18).toString("base64url");
  await registry.setUsers({ ...registry.users, user: password });
  const answer = answerOf(new Map([[registry.host, { username: "user", password }]]));
  machine.writeFile(providerFiles.answer, answer);
  machine.writeFile("config.json", registry.document("original"));
  await machine.exec(["systemctl", "restart", "kubelet"]);
  const order = async (name: string) => await cluster.pushApp(`order/${name}:1`);
  await pullWith("secret", await order("secret"), registry.auth("additional").auth);
  assert.deepEqual(await pulledBy("secret"), ["additional"]);
  await cluster.apply(podOn(machine, "config", await order("config")));
  assert.deepEqual(await pulledBy("config"), ["original"]);
  // From now on the registry refuses the credential in config.json.
  await registry.setUsers({ ...registry.users, original: randomBytes(18).toString("base64url") });
  await cluster.apply(podOn(machine, "provider", await order("provider")));
  assert.deepEqual(await pulledBy("provider"), ["user"]);
});

/** Two clusters with the real Sealed Secrets, each with its own keys, open sealed files. */
import assert from "node:assert/strict";
import { createPrivateKey } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { open } from "#plugin/seal/seal.fixture.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import { deskAt, pageOf } from "../page.ts";
import {
  build,
  home,
  install,
  startSealedSecrets,
  synced,
  type SealedSecrets,
} from "./sealedsecrets.ts";

const root = join(import.meta.dirname, "../..");
const password = "pl4nted-s3cret";
const auth = Buffer.from(`robot:${password}`).toString("base64");
const document = JSON.stringify({ auths: { "registry.example": { auth } } });
const label = `${names.namespace}/${names.additionalSecretName}`;

type Joined = Readonly<{ name: string; cluster: Cluster; sealed: SealedSecrets }>;
let [east, west]: Joined[] = [];
let folder: string;
/** Sealed Secrets controllers that a test has started again. */
const again: SealedSecrets[] = [];

before(async () => {
  [east, west] = await Promise.all(
    ["east", "west"].map(async (name) => {
      const cluster = await startCluster({ nodes: 0 });
      await install(cluster);
      return { name, cluster, sealed: await startSealedSecrets(cluster) };
    }),
  );
  assert.ok(east && west);
  folder = join(east.cluster.directory, "sealed");
  mkdirSync(folder);
  writeFileSync(join(folder, "pull-secret.json"), document);
  for (const { name, sealed } of [east, west])
    writeFileSync(join(folder, `${name}.pem`), sealed.certificate);
  const certificates = ["--cert", "east=east.pem", "--cert", "west=west.pem"];
  await seal("-f", "pull-secret.json", "-o", "files", ...certificates);
});
after(async () => {
  for (const controller of again) await controller[Symbol.asyncDispose]();
  for (const joined of [east, west]) {
    await joined?.sealed[Symbol.asyncDispose]();
    joined?.cluster.down();
  }
});

function both(): readonly [Joined, Joined] {
  assert.ok(east && west);
  return [east, west];
}

const pageText = (): string => readFileSync(join(root, "docs/extend/sealed.md"), "utf8");
const file = (name: string): string => join(folder, "files", `${name}.yaml`);
const { additionalSecretName: name, namespace } = names;

/** Runs the command `seal` in the folder of these tests. */
async function seal(...argv: readonly string[]): Promise<void> {
  await run([process.execPath, join(root, "plugin/main.ts"), "seal", ...argv], { cwd: folder });
}

async function documentIn({ cluster }: Joined, at = { name, namespace }): Promise<string> {
  const secret = await cluster.get<V1Secret>("secret", at.name, "-n", at.namespace);
  return Buffer.from(secret?.data?.[names.secretKeys.document] ?? "", "base64").toString();
}

async function untilSynced(
  { name: where, cluster }: Joined,
  status: "True" | "False",
  at = { name, namespace },
): Promise<void> {
  const expected = () => synced(cluster, at.name, at.namespace);
  const what = `${at.namespace}/${at.name} has status ${status} in ${where}`;
  await until(what, async () => (await expected()) === status, { seen: expected });
}

/** The private key that a cluster's Sealed Secrets controller has created, in PEM. */
async function privateKeyOf({ cluster }: Joined): Promise<string> {
  const label = "sealedsecrets.bitnami.com/sealed-secrets-key=active";
  const list = await cluster.get<{ items: V1Secret[] }>("secrets", "-n", home, "-l", label);
  return Buffer.from(list?.items[0]?.data?.["tls.key"] ?? "", "base64").toString();
}

test("M8, M11: opens a sealed file as the pull secret in its own cluster, and not in the other cluster", async () => {
  const [east, west] = both();
  for (const [joined, other] of [
    [east, west],
    [west, east],
  ] as const) {
    await joined.cluster.kubectl("apply", "-f", file(other.name));
    await untilSynced(joined, "False");
    assert.equal(await joined.cluster.get("secret", name, "-n", namespace), undefined);
  }
  for (const joined of [east, west]) {
    await joined.cluster.kubectl("apply", "-f", file(joined.name));
    await untilSynced(joined, "True");
    const secret = await joined.cluster.get<V1Secret>("secret", name, "-n", namespace);
    assert.equal(secret?.type, names.secretType);
    assert.equal(await documentIn(joined), document);
  }
});

test("M8: does not open a file under another name", async () => {
  const [east] = both();
  const at = { name: "moved", namespace };
  const moved = join(folder, "moved.yaml");
  const text = readFileSync(file("east"), "utf8");
  writeFileSync(moved, text.replaceAll(`name: ${name}`, `name: ${at.name}`));
  await east.cluster.kubectl("apply", "-f", moved);
  await untilSynced(east, "False", at);
  assert.equal(await documentIn(east, at), "");
});

test("replaces a hand-made Secret only after the page's annotation and a second apply of the file", async () => {
  const [east] = both();
  const at = { name: "made-by-hand", namespace: "default" };
  const content = '{"auths":{"by-hand.example":{"auth":"aDpo"}}}';
  writeFileSync(join(folder, "by-hand.json"), content);
  const from = `--from-file=${names.secretKeys.document}=${join(folder, "by-hand.json")}`;
  const type = `--type=${names.secretType}`;
  await east.cluster.kubectl("create", "secret", "generic", at.name, type, from);
  const secret = ["--secret", `${at.namespace}/${at.name}`];
  await seal("-f", "pull-secret.json", "--cert", "east=east.pem", ...secret, "-o", "hand");
  const sealed = join(folder, "hand", "east.yaml");
  await east.cluster.kubectl("apply", "-f", sealed);
  await untilSynced(east, "False", at);
  assert.equal(await documentIn(east, at), content);
  const annotation = /sealedsecrets\.bitnami\.com\/managed=true/.exec(pageText())?.[0];
  await east.cluster.kubectl("annotate", "secret", at.name, annotation ?? "");
  await east.cluster.kubectl("delete", "-f", sealed);
  assert.equal(await documentIn(east, at), content);
  await east.cluster.kubectl("apply", "-f", sealed);
  await until("the Secret is replaced", async () => (await documentIn(east, at)) === document);
});

test("seals files that kubeseal opens, and opens values that kubeseal has sealed", async () => {
  const [east] = both();
  const kubeseal = await build("kubeseal");
  const key = join(folder, "east.key");
  writeFileSync(key, await privateKeyOf(east), { mode: 0o600 });
  const unsealed = await run([kubeseal, "--recovery-unseal", "--recovery-private-key", key], {
    input: readFileSync(file("east")),
  });
  const { data, type } = JSON.parse(unsealed) as V1Secret;
  assert.equal(type, names.secretType);
  assert.equal(Buffer.from(data?.[names.secretKeys.document] ?? "", "base64").toString(), document);
  const argv = ["--raw", `--from-file=${join(folder, "pull-secret.json")}`];
  const target = ["--namespace", namespace, "--name", name];
  const certificate = ["--cert", join(folder, "east.pem")];
  const theirs = await run([kubeseal, ...argv, ...certificate, ...target]);
  assert.equal(open(theirs.trim(), createPrivateKey(readFileSync(key)), label), document);
});

test("M10: opens one file in both clusters if they have the same key pair, with the page's commands", async () => {
  const [east, west] = both();
  const contexts = { east: east.cluster, west: west.cluster };
  const desk = deskAt(join(folder, "desk"), { contexts });
  const shared = JSON.stringify({ auths: { "shared.example": { auth } } });
  writeFileSync(join(desk.folder, "additional.json"), shared);
  const blocks = pageOf("extend/sealed.md").blocksBelow("## One file for all clusters");
  const [make, bring, sealing, apply] = blocks.map(({ body }) =>
    // In these tests Sealed Secrets' namespace and Deployment have other names than on the page.
    body
      .replaceAll("-n kube-system", `-n ${home}`)
      .replaceAll("deployment/sealed-secrets-controller", "deployment/sealed-secrets"),
  );
  assert.ok(make && bring && sealing && apply);
  await desk.run(make);
  await desk.run(bring);
  // Restarts the controllers' processes, where the page restarts pods.
  for (const { cluster, sealed } of [east, west]) {
    await sealed[Symbol.asyncDispose]();
    again.push(await startSealedSecrets(cluster));
  }
  const printed = await desk.run(sealing);
  assert.equal(printed, blocks[2]?.printed);
  await desk.run(apply);
  for (const joined of [east, west]) {
    await untilSynced(joined, "True");
    assert.equal(await documentIn(joined), shared);
  }
});

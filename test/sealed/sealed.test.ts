/** Sealed files, opened by the real Sealed Secrets of two clusters, each with keys of its own. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import { open } from "../../cli/seal/seal.fixture.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import { createPrivateKey } from "node:crypto";
import { build, home, install, startSealedSecrets, type SealedSecrets } from "./sealedsecrets.ts";

const root = join(import.meta.dirname, "../..");
const password = "pl4nted-s3cret";
const auth = Buffer.from(`robot:${password}`).toString("base64");
const document = JSON.stringify({ auths: { "registry.example": { auth } } });
const label = `${names.namespace}/${names.additionalSecretName}`;

type Joined = Readonly<{ name: string; cluster: Cluster; sealed: SealedSecrets }>;
let [east, west]: Joined[] = [];
let folder: string;

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
  const argv = ["seal", "-f", "pull-secret.json", "-o", "files", ...certificates];
  await run([process.execPath, join(root, "cli/main.ts"), ...argv], { cwd: folder });
});
after(async () => {
  for (const joined of [east, west]) {
    await joined?.sealed[Symbol.asyncDispose]();
    joined?.cluster.down();
  }
});

function both(): readonly [Joined, Joined] {
  assert.ok(east && west);
  return [east, west];
}

const file = (name: string): string => join(folder, "files", `${name}.yaml`);
const its = ["-n", names.namespace];

async function secretOf({ cluster }: Joined): Promise<V1Secret | undefined> {
  return await cluster.get<V1Secret>("secret", names.additionalSecretName, ...its);
}

type Status = { status?: { conditions?: { type: string; status: string; message?: string }[] } };

async function synced({ cluster }: Joined): Promise<string | undefined> {
  const found = await cluster.get<Status>("sealedsecret", names.additionalSecretName, ...its);
  return found?.status?.conditions?.find(({ type }) => type === "Synced")?.status;
}

/** The private key that a cluster's controller has made for itself, in PEM. */
async function privateKeyOf({ cluster }: Joined): Promise<string> {
  const label = "sealedsecrets.bitnami.com/sealed-secrets-key=active";
  const list = await cluster.get<{ items: V1Secret[] }>("secrets", "-n", home, "-l", label);
  return Buffer.from(list?.items[0]?.data?.["tls.key"] ?? "", "base64").toString();
}

test("M8, M11: a sealed file becomes the pull secret in its own cluster", async () => {
  const [east, west] = both();
  // First the other's: nothing comes of it.
  await east.cluster.kubectl("apply", "-f", file("west"));
  await until("east cannot open west's", async () => (await synced(east)) === "False");
  assert.equal(await secretOf(east), undefined);
  for (const joined of [east, west]) {
    await joined.cluster.kubectl("apply", "-f", file(joined.name));
    await until(`${joined.name} opens its own`, async () => (await synced(joined)) === "True");
    const secret = await secretOf(joined);
    assert.equal(secret?.type, names.secretType);
    const data = secret.data?.[names.secretKeys.document] ?? "";
    assert.equal(Buffer.from(data, "base64").toString(), document);
  }
});

test("kubeseal opens what we seal, and we read what it seals", async () => {
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
  const target = ["--namespace", names.namespace, "--name", names.additionalSecretName];
  const certificate = ["--cert", join(folder, "east.pem")];
  const theirs = await run([kubeseal, ...argv, ...certificate, ...target]);
  assert.equal(open(theirs.trim(), createPrivateKey(readFileSync(key)), label), document);
});

test("M10: with one key pair in both clusters, one file opens in both", async () => {
  const [east, west] = both();
  const key = await east.cluster.get<{ items: V1Secret[] }>("secrets", "-n", home);
  const shared = key?.items.find(({ type }) => type === "kubernetes.io/tls");
  assert.ok(shared?.metadata);
  const { name, labels } = shared.metadata;
  await west.sealed[Symbol.asyncDispose]();
  await west.cluster.kubectl("delete", "sealedsecret", names.additionalSecretName, ...its);
  await until("west has nothing", async () => (await secretOf(west)) === undefined);
  const metadata = { name: `east-${name}`, namespace: home, labels };
  await west.cluster.apply({ ...shared, apiVersion: "v1", kind: "Secret", metadata });
  await using _again = await startSealedSecrets(west.cluster);
  await west.cluster.kubectl("apply", "-f", file("east"));
  await until("west opens east's", async () => (await synced(west)) === "True");
});

/**
 * Installs Sealed Secrets in every joined cluster, and seals one file for each cluster. Each
 * cluster can open only its own file.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { V1Secret } from "@kubernetes/client-node";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import {
  home as controllerNamespace,
  manifestsOf,
  startSealedSecrets,
  synced,
  type SealedSecrets,
} from "../sealed/sealedsecrets.ts";
import type { Rig } from "./clusters.ts";

const password = "pl4nted-s3al";
const auth = Buffer.from(`robot:${password}`).toString("base64");
const document = JSON.stringify({ auths: { "registry.example": { auth } } });

export function sealing(on: () => Rig): void {
  const running: SealedSecrets[] = [];
  after(async () => {
    for (const one of running) await one[Symbol.asyncDispose]();
  });
  const its = ["-n", "kube-system"];
  const pullSecret = "additional-pull-secret";
  const secretOf = (cluster: Cluster) => cluster.get<V1Secret>("secret", pullSecret, ...its);
  const opens = (made: V1Secret | undefined): boolean =>
    Buffer.from(made?.data?.[".dockerconfigjson"] ?? "", "base64").toString() === document;
  const seal = `seal -f pull-secret.json --controller-namespace ${controllerNamespace} -o sealed`;
  const clusters = "--cluster east --cluster west";
  const fingerprints = () => {
    const text = readFileSync(join(on().person.folder, "sealed/index.json"), "utf8");
    const index = JSON.parse(text) as { clusters: Record<string, { fingerprint: string }> };
    return Object.values(index.clusters).map(({ fingerprint }) => fingerprint);
  };

  test("M7: installs Sealed Secrets in every cluster with one command, in a chosen namespace", async () => {
    const { person, east, west } = on();
    const manifests = await manifestsOf();
    writeFileSync(join(person.folder, "sealed-secrets.yaml"), manifests);
    await person.ok("fleet apply -f sealed-secrets.yaml --clusters east,west");
    for (const cluster of [east, west]) {
      assert.ok(await cluster.get("deployment", "sealed-secrets", "-n", controllerNamespace));
      running.push(await startSealedSecrets(cluster));
    }
    writeFileSync(join(person.folder, "pull-secret.json"), document);
    const encoded = [auth, document].map((text) => Buffer.from(text).toString("base64"));
    person.plant(password, auth, ...encoded);
    // The plugin reports a cluster without Sealed Secrets, and seals nothing for any cluster.
    const { code, err } = await person.plugin(`${seal} ${clusters} --cluster here`);
    assert.equal(code, 1);
    assert.match(err, /^--cluster here: service\/sealed-secrets-controller in test: not found; /);
  });

  test("M8, M9, M11: fetches each cluster's certificate, and seals for each cluster a file that this cluster can open", async () => {
    const { person, east, west } = on();
    await person.ok(`${seal} ${clusters}`);
    assert.equal(new Set(fingerprints()).size, 2);
    for (const [name, cluster] of [
      ["east", east],
      ["west", west],
    ] as const) {
      await person.ok(`fleet apply -f sealed/${name}.yaml --clusters ${name}`);
      await until(`${name} opens its file`, async () => opens(await secretOf(cluster)));
    }
  });

  test("M11: seals the Secret web/regcred for each cluster, and each cluster can open its file", async () => {
    const { person, east, west } = on();
    const regcred = `${seal.replace("-o sealed", "-o sealed-web")} --secret web/regcred`;
    await person.ok(`${regcred} ${clusters}`);
    for (const [name, cluster] of [
      ["east", east],
      ["west", west],
    ] as const) {
      await person.ok(`fleet apply -f sealed-web/${name}.yaml --clusters ${name}`);
      const made = () => cluster.get<V1Secret>("secret", "regcred", "-n", "web");
      await until(`${name} opens its file`, async () => opens(await made()));
    }
  });

  test("opens a sealed file after its certificate was renewed, and seals again only with --renewed", async () => {
    const { person, east } = on();
    const before = readFileSync(join(person.folder, "sealed/east.yaml"), "utf8");
    await running[0]?.[Symbol.asyncDispose]();
    // Sealed Secrets' documentation describes this way to renew a key before it expires. The
    // controller keeps the previous key.
    const cutoff = new Date().toUTCString().replace("GMT", "+0000");
    running[0] = await startSealedSecrets(east, "--key-cutoff-time", cutoff);
    await person.refused(
      `${seal} ${clusters}`,
      /^east: has another certificate, \w{64} until .*; the index has \w{64} .*--renewed east/,
    );
    assert.equal(readFileSync(join(person.folder, "sealed/east.yaml"), "utf8"), before);
    const again = async () => {
      const { uid } = (await secretOf(east))?.metadata ?? {};
      await person.ok("fleet apply -f sealed/east.yaml --clusters east");
      await east.kubectl("delete", "secret", pullSecret, ...its);
      await until("east opens its file again", async () => {
        const made = await secretOf(east);
        const isNew = made?.metadata?.uid !== uid && opens(made);
        return isNew && (await synced(east, pullSecret, "kube-system")) === "True";
      });
    };
    await again();
    await person.ok(`${seal} ${clusters} --renewed east`);
    assert.notEqual(readFileSync(join(person.folder, "sealed/east.yaml"), "utf8"), before);
    await again();
  });

  test("warns when a user gives the same certificate for two clusters", async () => {
    const { person } = on();
    writeFileSync(join(person.folder, "west.pem"), running[1]?.certificate ?? "");
    const given = "--cert north=west.pem --cluster west";
    const { code, err } = await person.plugin(`${seal} ${given}`);
    assert.equal(code, 0);
    assert.match(err, /^warning: west, north: have the same|^warning: north, west: have the same/);
  });
}

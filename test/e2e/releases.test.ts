/**
 * Upgrades from the last release, built from its own sources, to this checkout, and downgrades
 * back. Each version is installed over the other version with its own manifests, CRD and image.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { lastRelease } from "#tools/definition/last-release.ts";
import { until } from "../cluster/await.ts";
import { everyPoint } from "../sample.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { buildLastRelease } from "../cluster/kit/last-release.ts";
import { agents, auths, fileMark, kubelets } from "./nodes.ts";
import * as product from "./product.ts";
import { restarts } from "./restarts.ts";

let cluster: Cluster;
/** The last release's folder. */
let last: string;
const settings = { rollout: { maxUnavailable: 1 }, protectedRegistries: ["protected.example"] };

before(async () => {
  [cluster, last] = await Promise.all([startCluster({ nodes: 3 }), buildLastRelease()]);
  await product.installProduct(cluster, { release: last, settings });
  await product.writeAdditional(cluster, cluster.registry.document("additional"));
  await product.untilServed(cluster, 1);
});
after(() => cluster?.down());

const state = async () => ({
  kubelets: await kubelets(cluster),
  files: await Promise.all(cluster.nodes.map(fileMark)),
  revision: await product.revision(cluster),
});

/** The different images of the agents' pods, without pods that are being deleted. */
async function images(): Promise<string[]> {
  const pods = (await agents(cluster)).filter(({ metadata }) => !metadata.deletionTimestamp);
  return [...new Set(pods.flatMap(({ spec }) => spec.containers.map(({ image }) => image)))];
}

const object = () => cluster.get<GlobalPullSecret>("globalpullsecret", names.globalPullSecretName);

async function isReady(): Promise<boolean> {
  const { metadata, status } = (await object()) ?? {};
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === "True" && status?.observedGeneration === metadata?.generation;
}

/**
 * Installs this release (by default this checkout) over the other version, and waits until every
 * node has an agent of the new version.
 */
async function replaceWith(release: string | undefined, revision: number): Promise<void> {
  const [before] = await images();
  // `kubectl apply` would leave this checkout's policies in place, which do not allow the agents of
  // the last release (docs/use/install.md).
  if (release !== undefined)
    await cluster.kubectl("delete", "validatingadmissionpolicies", "--all");
  await product.installProduct(cluster, { ...(release && { release }), settings });
  await until(
    "every agent is from the other version",
    async () => (await images()).length === 1 && (await images())[0] !== before,
    { timeout: 120_000, seen: images },
  );
  await product.untilServed(cluster, revision);
  await until("the object is Ready", isReady, { timeout: 60_000, seen: object });
}

const steps = [
  [`an upgrade from ${lastRelease.version}`, () => undefined],
  [`a downgrade to ${lastRelease.version}`, () => last],
] as const;

for (const [sentence, release] of steps.slice(0, everyPoint ? 2 : 1))
  test(`H19: in ${sentence}, replaces the agents, restarts no kubelet, writes no file and keeps the policy`, async () => {
    const before = await state();
    const spec = (await object())?.spec;
    await replaceWith(release(), 1);
    assert.deepEqual(await state(), before);
    assert.deepEqual((await object())?.spec, spec);
    const counted = async () => (await object())?.status?.nodes;
    await until(
      "status counts three nodes of three",
      async () => {
        const { desired, available } = (await counted()) ?? {};
        return desired === 3 && available === 3;
      },
      { seen: counted },
    );
  });

const contentOf = (revision: number) =>
  JSON.stringify({ auths: { [`r${revision}.example`]: { auth: "dTpw" } } });

for (const [at, [sentence, release]] of steps.slice(everyPoint ? 0 : 1).entries())
  test(`finishes a rollout during ${sentence}, and restarts each kubelet once`, async () => {
    const revision = at + 2;
    const [since, before] = [Date.now(), await kubelets(cluster)];
    await product.writeAdditional(cluster, contentOf(revision));
    const moved = async () =>
      (await kubelets(cluster)).filter((one, index) => one !== before[index]).length;
    await until("the canary's kubelet has been restarted", async () => (await moved()) > 0);
    assert.equal(await moved(), 1);
    await replaceWith(release(), revision);
    for (const node of cluster.nodes)
      assert.deepEqual(Object.keys(auths(node)), [`r${revision}.example`]);
    const restarted = (await restarts(cluster, since)).map(({ node }) => node).toSorted();
    assert.deepEqual(
      restarted,
      cluster.nodes.map(({ name }) => name),
    );
  });

test("H21: leaves nothing behind when one version begins a withdrawal and the other version finishes it", async () => {
  await product.deleteAdditional(cluster);
  await until(
    "a node removes the entries",
    async () => cluster.nodes.some((node) => node.readFile("config.json") === undefined),
    { timeout: 60_000 },
  );
  await product.installProduct(cluster, { settings });
  await product.untilRemoved(cluster);
  for (const node of cluster.nodes) assert.equal(node.readFile("config.json"), undefined);
});

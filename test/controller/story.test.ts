/**
 * Plays the story of test/story on a real etcd, API server and DaemonSet controller, and compares
 * it with the fake API server's result, so that the fake stays accurate.
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { collections } from "#kube/client/paths.ts";
import { isWrite } from "../cluster/audit.ts";
import { until } from "../cluster/await.ts";
import { startCluster } from "../cluster/cluster.ts";
import { playOnFakeApi } from "../harness/fake-stage.ts";
import { NodesDriver } from "../harness/nodes/drive.ts";
import { play, type Chapter } from "../harness/story.ts";
import { installed, requests, startController, type Controller } from "./plane.ts";

/** Plays the story on a control plane that has the manifests, but no GlobalPullSecret. */
async function playOnCluster(): Promise<Chapter[]> {
  await using cluster = await startCluster({ nodes: 0 });
  const { kubeconfig } = await installed(cluster);
  const admin = connect(loadKubeConfig(cluster.kubeconfig), () => {});
  // The API server serves a CRD some time after it has accepted the CRD.
  await until("GlobalPullSecrets are served", () => admin.get(collections.globalPullSecrets));
  await using nodes = new NodesDriver(admin).start();
  let controller: Controller | undefined;
  try {
    return await play({
      admin,
      nodes,
      start: () => (controller = startController(kubeconfig)),
      writes: () =>
        requests({ cluster })
          .filter((request) => isWrite(request))
          .map(({ verb, resource, name, uri, code }) => {
            const query = new URL(uri, "https://api").searchParams;
            return { verb, resource, name, query: Object.fromEntries(query), status: code };
          }),
    });
  } finally {
    await controller?.[Symbol.asyncDispose]();
  }
}

describe("plays the README's story on a real API server", () => {
  let real: readonly Chapter[];
  let fake: readonly Chapter[];

  before(async () => {
    // Waits until both stories have ended before it reports a failure, so that nothing runs on
    // afterwards.
    const played = await Promise.allSettled([playOnFakeApi(), playOnCluster()]);
    [fake = [], real = []] = played.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  });

  test("behaves as on the fake API server: writes, answers, Events, conditions and nodes", () => {
    const outline = (chapters: readonly Chapter[]) =>
      chapters.map((chapter) => ({ ...chapter, owners: [] }));
    assert.deepEqual(outline(real), outline(fake));
  });

  test("leaves the same field managers in the objects as on the fake API server", () => {
    for (const [at, { title, owners }] of real.entries()) {
      const others = fake[at]?.owners ?? [];
      const lacks = owners.filter((owner) => !others.includes(owner));
      const adds = others.filter((owner) => !owners.includes(owner));
      assert.deepEqual({ lacks, adds }, { lacks: [], adds: [] }, title);
    }
  });
});

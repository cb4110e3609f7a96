import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { KubeConfig } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { collections } from "#kube/client/paths.ts";
import { parseKubeconfig } from "#kube/kubeconfig/parse.ts";
import { type Manner, planted } from "./manners.ts";
import type { Stored } from "./protocol.ts";
import { FakeServer } from "./server.ts";

const secretPath = `${collections.secrets}/one`;
const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "one" }, data: { a: "1" } };

describe("fake API server: over the wire", () => {
  let server: FakeServer;
  before(async () => void (server = await FakeServer.start()));
  after(() => server[Symbol.asyncDispose]());

  function clusterAs(name: string, manner: Manner = "well"): Cluster {
    server.become(name, manner);
    const config = new KubeConfig();
    config.loadFromString(server.kubeconfig(name));
    return connect(config, () => {}, { manager: "test", seconds: 5, fixed: true });
  }

  /** Reads the lines of a watch until `count` lines have come, or the watch has ended. */
  async function lines(cluster: Cluster, count: number): Promise<string[]> {
    const stop = new AbortController();
    const received: string[] = [];
    await cluster
      .stream(collections.secrets, {}, stop.signal, (line) => {
        if (received.push(line) === count) stop.abort();
      })
      .catch((error: unknown) => assert.ok(stop.signal.aborted, String(error)));
    return received;
  }

  test("serves each cluster below its own path, to our unmodified client", async () => {
    const [a, b] = [clusterAs("a"), clusterAs("b")];
    await a.apply(secretPath, secret, { manager: "test", force: false });
    assert.equal((await a.get<Stored>(secretPath))?.data?.["a"], "1");
    assert.equal(await b.get(secretPath), undefined);
    const [asked] = server.api("a").asked;
    assert.deepEqual(
      [asked?.verb, asked?.resource, asked?.name, asked?.userAgent, asked?.status],
      ["patch", "secrets", "one", "test", 201],
    );
    assert.equal(server.requests("a").length, 2);
  });

  test("reads a merge patch by its content type", async () => {
    const cluster = clusterAs("patches");
    const { metadata } = await cluster.create<Stored>(collections.secrets, secret);
    const { uid, resourceVersion } = metadata;
    const patched = await cluster.patch<Stored>(secretPath, {
      metadata: { uid, resourceVersion, labels: { a: "b" } },
    });
    assert.deepEqual([patched.metadata.labels, patched.data], [{ a: "b" }, { a: "1" }]);
  });

  test("streams a watch, and ends the watch when the test changes the cluster's manner", async () => {
    const cluster = clusterAs("streams");
    await cluster.create(collections.secrets, secret);
    const [line = ""] = await lines(cluster, 1);
    assert.equal((JSON.parse(line) as { type: string }).type, "ADDED");
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = cluster.stream(collections.secrets, {}, AbortSignal.timeout(5000), () =>
      resolve(),
    );
    await promise;
    server.become("streams", "well");
    await ended;
  });

  test("returns a kubeconfig that the fleet's controller accepts", () => {
    const read = parseKubeconfig(JSON.parse(server.kubeconfig("a")), "test");
    assert.ok(read.ok, JSON.stringify(read));
  });

  test("answers 500 with planted words in manner fails", async () => {
    const refused = await clusterAs("fails", "fails")
      .get(`${collections.daemonSets}/x`)
      .catch((error: ApiError) => error);
    assert.ok(refused instanceof ApiError);
    assert.equal(refused.status, 500);
    assert.ok(refused.message.includes(planted));
  });

  test("sends endless events of later versions in manner floods", async () => {
    const cluster = clusterAs("floods", "floods");
    const events = (await lines(cluster, 600)).slice(0, 600);
    const versions = events.map(
      (line) => (JSON.parse(line) as { object: Stored }).object.metadata.resourceVersion,
    );
    assert.equal(new Set(versions).size, 600);
    assert.ok(server.poured > 1);
  });

  test("stores no write in manner forgets", async () => {
    const cluster = clusterAs("forgets", "forgets");
    const created = await cluster.create<Stored>(collections.secrets, secret);
    assert.equal(created.metadata.name, "one");
    assert.equal(await cluster.get(secretPath), undefined);
  });

  test("ends watches at once and serves all other requests in manner ends", async () => {
    const cluster = clusterAs("ends", "ends");
    assert.deepEqual(await lines(cluster, 1), []);
    assert.ok(await cluster.create(collections.secrets, secret));
  });
});

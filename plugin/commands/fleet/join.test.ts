import assert from "node:assert/strict";
import { test } from "node:test";
import type { Replacing } from "#kube/client/cluster.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { call, denial, FakeCluster } from "#plugin/fake.fixture.ts";
import type { Reach } from "#plugin/terminal/io.ts";

test("refuses an empty --context before any request", async () => {
  const cluster = new FakeCluster();
  cluster.get = () => assert.fail("a request is sent");
  const { code, out, err } = await call(["fleet join", "east", "--context", ""], { cluster });
  assert.deepEqual([code, out, cluster.writes], [2, "", []]);
  assert.equal(err, "--context: is empty; give the kubeconfig's context of the joined cluster\n");
});

test("joins a cluster, records the flags, and prints when the token ends", async () => {
  const [host, cluster] = [new FakeCluster(), new FakeCluster()];
  for (const each of [host, cluster])
    each.objects.set("/api/v1/namespaces/kube-system", { metadata: { uid: "id" } });
  host.objects.set("/api/v1/namespaces/global-pull-secret-clusters", {});
  const issued = tokenFrom(Date.parse("2026-12-02"), Date.parse("2027-01-01"));
  cluster.create = async <T>() => ({ status: { token: issued } }) as T;
  const refuses = async (): Promise<never> => await Promise.reject(denial);
  const guarded = { get: async () => {}, create: refuses, apply: refuses } as unknown as Replacing;
  const used: Partial<Reach>[] = [];
  const reach = async ({ token, kubeconfig, context }: Reach) => {
    if (token !== issued) return context === undefined ? host : cluster;
    used.push({ kubeconfig, context });
    return guarded;
  };
  const named = ["--server", "https://10.0.0.1", "--tls-server-name", "kubernetes"];
  const flags = [...named, "--system-roots"];
  const place = async () => ({ server: "https://a.example" });
  const argv = ["fleet join", "east", "--kubeconfig", "work", "--context", "fake", ...flags];
  const { code, out, err } = await call(argv, { cluster, io: { reach, place } });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(used, [{ kubeconfig: "work", context: "fake" }]);
  assert.equal(
    out,
    "east: joined; its token is good until 2027-01-01T00:00:00.000Z\n" +
      "next: kubectl pull-secret fleet list\n",
  );
  const [, server, , name] = named;
  assert.partialDeepStrictEqual(host.writes.at(-1)?.body, {
    metadata: {
      annotations: {
        "globalpullsecret.io/server": server,
        "globalpullsecret.io/tls-server-name": name,
        "globalpullsecret.io/system-roots": "true",
      },
    },
  });
});

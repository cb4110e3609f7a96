import assert from "node:assert/strict";
import { test } from "node:test";
import { collections } from "#kube/client/paths.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";

type Agent = Readonly<{ ready?: boolean; last?: object }>;

function pod(cluster: FakeCluster, node: string, { ready = false, last }: Agent = {}): void {
  cluster.objects.set(`${collections.pods}/${node}`, {
    metadata: {
      name: `syncer-${node}`,
      uid: node,
      annotations: { "globalpullsecret.io/revision": "8" },
    },
    spec: { nodeName: node },
    status: {
      conditions: [{ type: "Ready", status: ready ? "True" : "False" }],
      containerStatuses: [{ name: "agent", ...last }],
    },
  });
}

function probe(cluster: FakeCluster, uid: string, status: number, lastTimestamp: string): void {
  const message = `Readiness probe failed: HTTP probe failed with statuscode: ${status}`;
  const event = { involvedObject: { uid }, message, lastTimestamp };
  cluster.objects.set(`${collections.events}/${uid}-${lastTimestamp}`, event);
}

function cluster(): FakeCluster {
  const fake = new FakeCluster();
  pod(fake, "n1", { ready: true });
  pod(fake, "n3");
  pod(fake, "n2");
  const terminated = { message: "GPS206 /host/kubelet is a link; put it right" };
  pod(fake, "n4", { last: { state: { waiting: {} }, lastState: { terminated } } });
  // The kubelet told both; the later one is true now.
  probe(fake, "n2", 513, "2026-11-23T09:00:05Z");
  probe(fake, "n2", 502, "2026-11-23T09:00:00Z");
  // From before it was ready.
  probe(fake, "n1", 513, "2026-11-23T09:00:00Z");
  return fake;
}

test("`nodes` has a line each, with the code that the kubelet's Event or the last words tell", async () => {
  const { code, out } = await call(["nodes"], { cluster: cluster() });
  assert.equal(code, 0);
  const [head = "", n1 = "", n2 = "", n3 = "", n4 = ""] = out.split("\n");
  assert.match(head, /^ {2}NODE +REVISION +READY +CODE$/);
  assert.match(n1, /^ {2}n1 +8 +yes$/);
  assert.match(n2, /^ {2}n2 +8 +no +GPS213 +\S/);
  assert.match(n3, /^ {2}n3 +8 +no +no word yet$/);
  assert.match(n4, /^ {2}n4 +8 +no +GPS206 +\/host\/kubelet is a link; put it right$/);
});

test("`nodes -o json` is a list of a stable shape", async () => {
  const { out } = await call(["nodes", "-o", "json"], { cluster: cluster() });
  const [first, second] = JSON.parse(out) as object[];
  assert.deepEqual(first, { node: "n1", pod: "syncer-n1", revision: 8, ready: true, message: "" });
  assert.deepEqual(Object.keys(second ?? {}), [
    "node",
    "pod",
    "revision",
    "ready",
    "code",
    "message",
  ]);
});

test("without any agent `nodes` says so", async () => {
  const { out } = await call(["nodes"]);
  assert.match(out, /^No agent runs/);
});

test("`nodes --not-ready` leaves the ready ones out, and counts all", async () => {
  const { out } = await call(["nodes", "--not-ready"], { cluster: cluster() });
  assert.doesNotMatch(out, /^ {2}n1 /m);
  assert.match(out, /^ {2}n2 [^]*\n1 of 4 agents are ready\n$/m);
  const fake = new FakeCluster();
  pod(fake, "n1", { ready: true });
  const all = await call(["nodes", "--not-ready"], { cluster: fake });
  assert.equal(all.out, "1 of 1 agents are ready\n");
});

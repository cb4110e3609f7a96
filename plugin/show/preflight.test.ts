import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Node } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { node } from "./node.fixture.ts";
import { kindOf, type Preflight } from "./preflight.ts";

for (const [runtime, isPossible] of [
  ["containerd://2.2.9", true],
  ["containerd://2.10.0", true],
  ["containerd://3.0.0", true],
  ["containerd://2.0.4", false],
  ["containerd://1.7.27", false],
  ["cri-o://1.34.0", false],
] as const)
  test(`predicts mode Runtime exactly for nodes whose containerd is recent: ${runtime}`, () => {
    assert.equal(kindOf(node({ runtime })).modes.includes("Runtime"), isPossible);
  });

const server = { "node-role.kubernetes.io/control-plane": "true" };

for (const [version, labels, unit] of [
  ["v1.34.0", server, "kubelet.service"],
  ["v1.34.0", {}, "kubelet.service"],
  ["v1.34.1+k3s1", server, "k3s.service"],
  ["v1.34.1+k3s1", {}, "k3s-agent.service"],
  ["v1.33.1+k0s", {}, "k0sworker.service"],
] as const)
  test(`predicts ${unit} for a kubelet ${version} with the labels ${JSON.stringify(labels)}`, () => {
    assert.equal(kindOf(node({ version, labels })).unit, unit);
  });

test("does not say that nodes can be served if no test runs their platform or their versions", async () => {
  const old = { version: "v1.27.4" };
  const fake = cluster(node({}), node({ version: "v1.33.1+k0s" }), node(old));
  const { out } = await call(["preflight"], { cluster: fake });
  assert.match(out, /^1 of 3 nodes can be served; 2 more are expected to work, but no test runs /);
  assert.match(out, /k0s \(n\): expected .*; set --kubelet-directory=\/var\/lib\/k0s\/kubelet\n/);
  assert.match(out, /: expected .*; kubelet v1\.27\.4 is older than those of our tests\n/);
});

test("prints the chart's values for the nodes, and refuses to choose for mixed nodes", async () => {
  const k0s = node({ version: "v1.33.1+k0s" });
  const ofOne = await call(["preflight", "-o", "values"], { cluster: cluster(k0s) });
  assert.deepEqual(
    [ofOne.code, ofOne.out],
    [0, '{"flags":{"kubeletDirectory":"/var/lib/k0s/kubelet"}}\n'],
  );
  const mixed = cluster(k0s, node({ image: "Bottlerocket OS 1.50" }));
  const { code, err } = await call(["preflight", "-o", "values"], { cluster: mixed });
  assert.equal(code, 1);
  assert.match(err, /^k0s, Bottlerocket: need different values, /);
});

function cluster(...nodes: readonly V1Node[]): FakeCluster {
  const fake = new FakeCluster();
  for (const [at, object] of nodes.entries()) fake.objects.set(`/api/v1/nodes/n${at}`, object);
  return fake;
}

test("shows 5,000 nodes on one screen, with the expected restarts and their duration", async () => {
  const workers = Array.from({ length: 4997 }, (_, at) => node({}, `w${at}`));
  const fargate = node({ labels: { "eks.amazonaws.com/compute-type": "fargate" } }, "f0");
  const fake = cluster(...workers, fargate, fargate, fargate);
  const { code, out } = await call(["preflight"], { cluster: fake });
  assert.equal(code, 0);
  assert.match(
    out,
    /^4997 of 5000 nodes can be served\n.* restart 4997 kubelets, .*: about 2m24s; /,
  );
  assert.ok(out.split("\n").length < 11, out);
  assert.match(
    out,
    /\n {2}kubectl debug node\/NAME .* \/host\/var\/lib\/kubelet\/config\.json .*\/host\/root\/\.dockercfg\n/,
  );
  for (const { options } of fake.writes)
    assert.equal((options as { dryRun?: boolean }).dryRun, true);
});

test("shows in one line what refuses an installation, and what it cannot try", async () => {
  const fake = cluster(node({}));
  const reasons: Readonly<Record<string, string>> = {
    pods: 'pods "p" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes',
    daemonsets: 'User "jane" cannot patch resource "daemonsets" in API group "apps"',
  };
  fake.before = ({ path }) => {
    const detail = reasons[path.split("/").at(-2) ?? ""];
    if (detail) throw new ApiError({ status: 403, reason: "Forbidden", method: "", path, detail });
  };
  const { code, out } = await call(["preflight", "--image", "r.example/gps:1"], { cluster: fake });
  assert.equal(code, 1);
  const line = `refuses the Pod of an installation (dry run): ${reasons["pods"]}\n`;
  assert.ok(out.includes(line), out);
  assert.match(out, /\nno dry run of DaemonSet: your account may not create it, /);
  assert.deepEqual(
    fake.writes.map(({ body }) => (body as { kind: string }).kind),
    ["Secret", "ServiceAccount"],
  );
  fake.before = () => {};
  const accepted = await call(["preflight"], { cluster: fake });
  assert.match(accepted.out, /\nthe API server accepts what an installation creates \(dry run\)\n/);
});

test("names the nodes whose pods can lose devices in a kubelet restart", async () => {
  const allocatable = { "nvidia.com/gpu": "8" };
  const idle = node({ allocatable: { "nvidia.com/gpu": "0" } }, "idle");
  const unrestarted = node({ allocatable, image: "Talos (v1.11.0)" }, "talos");
  const fake = cluster(node({}), idle, unrestarted);
  assert.doesNotMatch((await call(["preflight"], { cluster: fake })).out, /devices/);
  fake.objects.set("/api/v1/nodes/gpu", node({ allocatable }, "gpu"));
  const { out } = await call(["preflight"], { cluster: fake });
  assert.match(
    out,
    /\n {2}devices on 1 of these nodes \(gpu\): .* \(UnexpectedAdmissionError\); .*\n/,
  );
});

test("prints JSON, and expects a small cluster to change one node at a time", async () => {
  const fake = cluster(node({}), node({}), node({}), node({}));
  const { out } = await call(["preflight", "-o", "json"], { cluster: fake });
  const { nodes, restarts, seconds, groups } = JSON.parse(out) as Preflight;
  assert.deepEqual([nodes, restarts, seconds, groups[0]?.ready], [4, 4, 36, 4]);
});

test("exits with 1 when no node can be served, or when there is no node", async () => {
  const fargate = node({ labels: { "eks.amazonaws.com/compute-type": "fargate" } });
  assert.equal((await call(["preflight"], { cluster: cluster(fargate) })).code, 1);
  assert.equal((await call(["preflight"], { cluster: cluster() })).code, 1);
});

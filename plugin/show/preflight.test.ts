import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Node } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { kindOf, type Preflight } from "./preflight.ts";

type Reported = Readonly<{
  labels?: Record<string, string>;
  version?: string;
  image?: string;
  allocatable?: Record<string, string>;
  providerID?: string;
}>;

const ordinary: Record<string, string> = { cpu: "4", "hugepages-2Mi": "2Mi" };

const node = (
  { labels = {}, version = "v1.34.0", image = "Debian", allocatable = {}, providerID }: Reported,
  name = "n",
): V1Node =>
  ({
    metadata: { name, labels },
    spec: { providerID },
    status: {
      allocatable: { ...ordinary, ...allocatable },
      nodeInfo: { kubeletVersion: version, osImage: image, operatingSystem: "linux" },
      conditions: [{ type: "Ready", status: "True" }],
    },
  }) as V1Node;

for (const [runtime, isPossible] of [
  ["containerd://2.2.9", true],
  ["containerd://2.10.0", true],
  ["containerd://3.0.0", true],
  ["containerd://2.0.4", false],
  ["containerd://1.7.27", false],
  ["cri-o://1.34.0", false],
] as const)
  test(`predicts mode Runtime exactly for nodes whose containerd is recent: ${runtime}`, () => {
    const recent = node({});
    Object.assign(recent.status?.nodeInfo ?? {}, { containerRuntimeVersion: runtime });
    assert.equal(kindOf(recent).modes.includes("Runtime"), isPossible);
  });

const server = { "node-role.kubernetes.io/control-plane": "true" };

const first = "kubeadm, and others with kubelet.service";

for (const [reported, distribution, unit, restarts, modes] of [
  [{}, first, "kubelet.service", true, 3],
  [{ providerID: "kind://podman/kind/kind-worker" }, "kind", "kubelet.service", true, 3],
  [{ version: "v1.34.1+k3s1", labels: server }, "k3s", "k3s.service", false, 2],
  [{ version: "v1.34.1+k3s1" }, "k3s", "k3s-agent.service", false, 2],
  [{ version: "v1.34.1+k3s1", image: "K3s v1.34.1+k3s1" }, "k3d", "-", false, 1],
  [{ version: "v1.34.1+rke2r1", labels: server }, "RKE2", "rke2-server.service", false, 2],
  [{ version: "v1.34.1+rke2r1" }, "RKE2", "rke2-agent.service", false, 2],
  [{ version: "v1.33.1+k0s" }, "k0s", "k0sworker.service", false, 2],
  [
    { labels: { "microk8s.io/cluster": "true" } },
    "MicroK8s",
    "snap.microk8s.daemon-kubelite.service",
    false,
    2,
  ],
  [{ image: "Talos (v1.11.0)" }, "Talos", "-", false, 1],
  [{ image: "Docker Desktop" }, "Docker Desktop", "-", false, 1],
  [{ version: "v1.34.1-eks-113cf36" }, "EKS (AL2023)", "kubelet.service", true, 2],
  [
    { version: "v1.34.1-eks-113cf36", image: "Bottlerocket OS 1.50" },
    "Bottlerocket",
    "kubelet.service",
    true,
    2,
  ],
  [
    { labels: { "eks.amazonaws.com/compute-type": "auto" } },
    "EKS Auto Mode",
    "kubelet.service",
    true,
    2,
  ],
  [{ labels: { "eks.amazonaws.com/compute-type": "fargate" } }, "EKS Fargate", "-", false, 0],
  [{ version: "v1.34.1-gke.100" }, "GKE Standard", "kubelet.service", true, 2],
  [{ labels: { "kubernetes.azure.com/cluster": "c" } }, "AKS", "kubelet.service", true, 2],
  [{ labels: { "node.kubernetes.io/instance-type": "rhde" } }, "MicroShift", "-", false, 1],
  [
    { labels: { "node.openshift.io/os_id": "rhel" } },
    "OpenShift (also with HyperShift)",
    "-",
    false,
    0,
  ],
  ...[{ type: "virtual-kubelet" }, { type: "kwok" }, { "liqo.io/type": "virtual-node" }].map(
    (labels) => [{ labels }, "virtual-kubelet, KWOK, Liqo's virtual nodes", "-", false, 0] as const,
  ),
] as const)
  test(`predicts ${distribution} with ${unit} for a node with ${JSON.stringify(reported)}`, () => {
    const kind = kindOf(node(reported));
    assert.deepEqual(
      [kind.distribution, kind.unit, kind.restarts, kind.modes.length],
      [distribution, unit, restarts, modes],
    );
    assert.equal(kind.modes.length === 0, kind.state === "unserved");
    if (kind.state === "expected") assert.match(kind.note ?? "", /^expected to work, but no test /);
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

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { node, type Reported } from "./node.fixture.ts";
import { kindOf } from "./preflight.ts";
import { modesOf, platforms, platformsOf, settingsOf } from "./platforms.ts";

type Sample = Readonly<{
  reported: Reported;
  /** Other platforms that also fit the node, but do not count. */
  also?: readonly string[];
}>;

const alpine = "Rancher Desktop and other nodes with Alpine";
const eks = { "eks.amazonaws.com/nodegroup": "g" };
const eksVersion = "v1.34.1-eks-113cf36";
const compute = (type: string) => ({ "eks.amazonaws.com/compute-type": type });
const gke = { labels: { "cloud.google.com/gke-nodepool": "p" }, version: "v1.34.1-gke.100" };
const openShift = { "node.openshift.io/os_id": "rhel" };

/** Platform → a node of it, with all that such nodes report. */
const samples: Readonly<Record<string, Sample>> = {
  "kubeadm, and others with `kubelet.service`": { reported: {} },
  kind: { reported: { providerID: "kind://podman/kind/kind-worker" } },
  minikube: { reported: { labels: { "minikube.k8s.io/name": "minikube" } } },
  Talos: { reported: { image: "Talos (v1.11.0)" } },
  k3d: { reported: { version: "v1.34.1+k3s1", image: "K3s v1.34.1+k3s1" }, also: ["k3s"] },
  "Docker Desktop": { reported: { image: "Docker Desktop" } },
  [alpine]: {
    reported: { version: "v1.34.1+k3s1", image: "Rancher Desktop WSL Distribution" },
    also: ["k3s"],
  },
  "k0s on Alpine": {
    reported: { version: "v1.33.1+k0s", image: "Alpine Linux v3.22" },
    also: ["k0s"],
  },
  k3s: { reported: { version: "v1.34.1+k3s1" } },
  RKE2: { reported: { version: "v1.34.1+rke2r1" } },
  k0s: { reported: { version: "v1.33.1+k0s" } },
  MicroK8s: { reported: { labels: { "microk8s.io/cluster": "true" } } },
  "Canonical Kubernetes": { reported: { labels: { "k8sd.io/role": "worker" } } },
  "Charmed Kubernetes": { reported: { labels: { "juju-application": "kubernetes-worker" } } },
  "EKS Fargate": {
    reported: { labels: compute("fargate"), version: eksVersion },
    also: ["EKS (AL2023)"],
  },
  "virtual-kubelet, KWOK, Liqo's virtual nodes": {
    reported: { labels: { type: "virtual-kubelet", "kubernetes.azure.com/cluster": "c" } },
    also: ["AKS"],
  },
  "EKS Auto Mode": {
    reported: { labels: compute("auto"), version: eksVersion, image: "Bottlerocket (EKS Auto)" },
    also: ["Bottlerocket", "EKS (AL2023)"],
  },
  Bottlerocket: {
    reported: { labels: eks, version: eksVersion, image: "Bottlerocket OS 1.50" },
    also: ["EKS (AL2023)"],
  },
  "EKS (AL2023)": { reported: { labels: eks, version: eksVersion, image: "Amazon Linux 2023" } },
  "GKE Autopilot": { reported: { ...gke, name: "gk3-cluster-pool-1" }, also: ["GKE Standard"] },
  "GKE Standard": { reported: { ...gke, name: "gke-cluster-pool-1" } },
  AKS: { reported: { labels: { "kubernetes.azure.com/cluster": "c" } } },
  MicroShift: {
    reported: { labels: { ...openShift, "node.kubernetes.io/instance-type": "rhde" } },
  },
  "OpenShift (also with HyperShift)": { reported: { labels: openShift } },
  "Windows nodes": { reported: { os: "windows", image: "Windows Server 2022" } },
};

test("has a sample of every platform that a Node shows", () => {
  const shown = platforms.filter(({ is }, at) => at === 0 || is !== undefined);
  assert.deepEqual(
    Object.keys(samples),
    shown.map(({ name }) => name),
  );
});

for (const [name, { reported, also = [] }] of Object.entries(samples))
  test(`recognises ${name}, and as another platform only one that is declared`, () => {
    assert.deepEqual(
      platformsOf(node(reported)).map((platform) => platform.name),
      [name, ...also],
    );
  });

for (const [name, { reported }] of Object.entries(samples))
  test(`notes an old kubelet of ${name}, and predicts at most that it is expected to work`, () => {
    const { version = "v1.34.0" } = reported;
    const old = { ...reported, version: version.replace(/^v1\.\d+/, "v1.27") };
    const [{ state }] = platformsOf(node(old));
    const kind = kindOf(node(old));
    assert.equal(kind.state, state === "tested" ? "expected" : state);
    assert.match(kind.note ?? "", /kubelet v1\.27\.\S+ is older than those of our tests/);
  });

const rows = readFileSync("SUPPORT.md", "utf8")
  .split("\n")
  .map((line) => line.slice(2, -2).split(" | "));

for (const platform of platforms)
  test(`SUPPORT.md shows what preflight predicts for ${platform.name}`, () => {
    const { name, state, restart, provider, runtime, evidence } = platform;
    const settings = settingsOf(platform).join("; ") || "–";
    const [, ...cells] =
      rows.find(([names = ""]) => names === name || names.split(", ").includes(name)) ?? [];
    const texts = [restart, provider, runtime].map(({ text }) => text);
    assert.deepEqual(cells, [...texts, settings, evidence]);
    const delivers = (text = "") => /^(?:works|expected|not restarted)/.test(text);
    const [isRestart, isProvider, isRuntime] = cells.map(delivers);
    assert.deepEqual(modesOf(platform), [
      ...(isRestart ? ["Restart"] : []),
      ...(state === "unserved" ? [] : ["Reread"]),
      ...(isProvider ? ["CredentialProvider"] : []),
      ...(isRuntime ? ["Runtime"] : []),
    ]);
    assert.equal(state === "tested", evidence.startsWith("run: "));
    assert.equal(
      platform.units.length > 0,
      platform.restarts || restart.text.startsWith("not restarted"),
    );
  });

for (const [name, reported] of [
  ["GKE Standard", { labels: gke.labels }],
  ["GKE Standard", { version: gke.version }],
  ["EKS (AL2023)", { labels: eks }],
  ["EKS (AL2023)", { version: eksVersion }],
  ["OpenShift (also with HyperShift)", { image: "Red Hat Enterprise Linux CoreOS 418.94" }],
] as const)
  test(`recognises ${name} by ${JSON.stringify(reported)} alone`, () =>
    assert.equal(platformsOf(node(reported))[0].name, name));

for (const excluded of [
  { os: "windows" },
  ...[{ type: "kwok" }, { "liqo.io/type": "virtual-node" }].map((labels) => ({ labels })),
])
  test(`expects no pod on nodes of any platform with ${JSON.stringify(excluded)}`, () => {
    for (const [name, { reported }] of Object.entries(samples)) {
      const labels = { ...reported.labels, ...("labels" in excluded && excluded.labels) };
      const [platform] = platformsOf(node({ ...reported, ...excluded, labels }));
      assert.equal(platform?.state, "unserved", name);
    }
  });

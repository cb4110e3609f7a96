import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet, V1Node, V1Pod } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn } from "#kube/client/cluster.ts";
import { ownerLabels } from "#kube/client/ownership.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { node } from "../show/node.fixture.ts";
import { kindOf } from "../show/preflight.ts";

for (const [runtime, isPossible, isOld] of [
  ["containerd://2.1.0", true, false],
  ["containerd://2.10.0", true, false],
  ["containerd://3.0.0", true, false],
  ["containerd://2.0.4", false, false],
  ["containerd://1.7.27", false, true],
  ["cri-o://1.34.0", false, false],
] as const)
  test(`predicts mode Runtime exactly for nodes whose containerd is recent: ${runtime}`, () => {
    const { modes, note = "" } = kindOf(node({ runtime }));
    assert.deepEqual([modes.includes("Runtime"), note.includes("older")], [isPossible, isOld]);
  });

const server = { "node-role.kubernetes.io/control-plane": "true" };

for (const [version, labels, unit] of [
  ["v1.34.0", server, "kubelet.service"],
  ["v1.34.0", {}, "kubelet.service"],
  ["v1.34.1+k3s1", server, "k3s.service"],
  ["v1.34.1+k3s1", {}, "k3s-agent.service"],
  ["v1.34.1+rke2r1", server, "rke2-server.service"],
  ["v1.34.1+rke2r1", {}, "rke2-agent.service"],
  ["v1.33.1+k0s", server, "k0scontroller.service"],
  ["v1.33.1+k0s", {}, "k0sworker.service"],
  ["v1.34.0", { "microk8s.io/cluster": "true" }, "snap.microk8s.daemon-kubelite.service"],
  ["v1.34.0", { "k8sd.io/role": "worker" }, "snap.k8s.kubelet.service"],
  ["v1.34.0", { "juju-application": "kubernetes-worker" }, "snap.kubelet.daemon.service"],
] as const)
  test(`predicts ${unit} for a kubelet ${version} with the labels ${JSON.stringify(labels)}`, () => {
    assert.equal(kindOf(node({ version, labels })).unit, unit);
  });

for (const [count, seconds] of [
  [1, "about 9s"],
  [4, "about 36s"],
  [37, "about 99s"],
  [400, "about 117s"],
] as const)
  test(`estimates the duration of a rollout to ${count} nodes: ${seconds}`, async () => {
    const fake = cluster(...Array.from({ length: count }, () => node({})));
    const { out } = await call(["preflight"], { cluster: fake });
    assert.ok(out.startsWith(`${count} of ${count} nodes can be served\n`), out);
    assert.ok(out.includes(`: ${seconds}; `), out);
  });

const fargate = node({ labels: { "eks.amazonaws.com/compute-type": "fargate" } }, "f1");

test("prints the chart's values for the nodes, and refuses to choose for mixed nodes", async () => {
  const k0s = node({ version: "v1.33.1+k0s" });
  const ofOne = await call(["preflight", "-o", "values"], { cluster: cluster(k0s, fargate) });
  assert.deepEqual(
    [ofOne.code, ofOne.out],
    [0, '{"flags":{"kubeletDirectory":"/var/lib/k0s/kubelet"}}\n'],
  );
  const mixed = cluster(k0s, node({ image: "Bottlerocket OS 1.50" }));
  const { code, out, err } = await call(["preflight", "-o", "values"], { cluster: mixed });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^k0s, Bottlerocket: need different values, /);
});

function cluster(...nodes: readonly V1Node[]): FakeCluster {
  const fake = new FakeCluster();
  for (const [at, object] of nodes.entries()) fake.objects.set(`/api/v1/nodes/n${at}`, object);
  return fake;
}

const shape =
  "tests run a unit of the same shape, a kubelet with its containerd, but not these products";
const reread = "not restarted; the kubelet reads the file within five minutes";
const files = (directory: string) =>
  ["config.json", "/config.json", "/root/.docker/config.json", "/.docker/config.json"]
    .concat(".dockercfg", "/.dockercfg", "/root/.dockercfg")
    .map((file) => `/host${file.startsWith("/") ? file : `${directory}/${file}`}`)
    .join(" ");

test("prints what an installation would do on each kind of node, and what to know", async () => {
  const runtime = "containerd://2.2.9";
  const gpu = (count: string) => ({ allocatable: { "nvidia.com/gpu": count } });
  const fake = cluster(
    node({ version: "v1.27.4", runtime: "containerd://1.7.27" }, "old"),
    node({ labels: server, runtime }, "c1"),
    node({ runtime, ...gpu("8") }, "w1"),
    node({ runtime, ...gpu("0") }, "w2"),
    node({ runtime, ready: false }, "w3"),
    node({ version: "v1.34.1+k3s1", labels: server, ...gpu("8") }, "k1"),
    node({ version: "v1.33.1+k0s" }, "k2"),
    fargate,
  );
  const { code, out } = await call(["preflight"], { cluster: fake, colour: true });
  assert.equal(code, 0);
  for (const { options } of fake.writes)
    assert.partialDeepStrictEqual(options, { dryRun: true, isPublic: true });
  const ink = (colour: number, text: string) => `\u001b[${colour}m${text}\u001b[0m`;
  const [usual, unit] = ["kubeadm, and others with kubelet.service", "kubelet.service"];
  const expected = "expected to work, but no test runs it";
  assert.deepEqual(
    out.split("\n").map((line) => line.replaceAll(/ +/g, " ")),
    [
      ink(33, "4 of 8 nodes can be served; 3 more are expected to work, but no test runs them"),
      "a rollout in mode Restart would restart 5 kubelets, 10 % at a time: about 45s; containers keep running",
      ink(32, "dry run: the API server accepts the agents' Secret, ServiceAccount, DaemonSet, Pod"),
      ink(1, " READY NODES OF KUBELET'S UNIT MODES RESTARTS"),
      ` 3/4 ${usual} ${unit} Restart, Reread, CredentialProvider, Runtime yes`,
      ` 1/1 ${usual} ${unit} Restart, Reread, CredentialProvider yes`,
      " 1/1 k3s k3s.service Restart, Reread no",
      " 1/1 k0s k0sworker.service Restart, Reread no",
      ink(33, " 1/1 EKS Fargate - none no"),
      ` ${usual} (c1, w1, w2): Runtime: works with one directory as config_path`,
      ` ${usual} (old): kubelet v1.27.4 is older than those of our tests; containerd 1.7.27 is older than those of our tests`,
      ` k3s (k1): ${expected} (${shape}); ${reread}; CredentialProvider: GPS235; --restart-control-plane=Always restarts them`,
      ` k0s (k2): ${expected} (read in source); ${reread}; CredentialProvider: not tried; set --kubelet-directory=/var/lib/k0s/kubelet`,
      " EKS Fargate (f1): left out: no DaemonSet runs there; exclude them too if you set --agent-node-selector",
      " devices on 1 of these nodes (w1): a kubelet restart can end pods that use them (UnexpectedAdmissionError); mode Reread avoids it",
      "if a node has only one of the later files, move its entries to the first file before you install:",
      ...["/var/lib/kubelet", "/var/lib/k0s/kubelet"].map(
        (directory) => ` kubectl debug node/NAME -it --image=busybox -- ls -l ${files(directory)}`,
      ),
      "",
    ],
  );
});

const image = ["--image", "r.example/gps:1"];

/** Collection → how the API server answers a write there. */
type Answers = Readonly<
  Record<string, Readonly<{ status?: number; denied?: boolean; detail?: string }>>
>;

function answering(answers: Answers, ...nodes: readonly V1Node[]): FakeCluster {
  const fake = cluster(...nodes);
  fake.before = ({ path }) => {
    const answer = answers[path.split("/").at(-2) ?? ""];
    if (answer === undefined) return;
    throw new ApiError({ status: 403, reason: "Forbidden", method: "", path, ...answer });
  };
  return fake;
}

test("creates in the dry run exactly the agents that the printed values install", async () => {
  const tried = async (...nodes: readonly V1Node[]) => {
    const fake = answering({}, ...nodes);
    const { code, out } = await call(["preflight", ...image], { cluster: fake });
    assert.equal(code, 0);
    assert.match(
      out,
      /\ndry run: the API server accepts the agents' Secret, ServiceAccount, DaemonSet, Pod\n/,
    );
    const bodies = fake.writes.map(({ body }) => body as V1DaemonSet & V1Pod);
    const names = bodies.map(({ kind, metadata }) => [kind, metadata?.name]);
    assert.deepEqual(names, [
      ["Secret", "global-pull-secret"],
      ["ServiceAccount", "global-pull-secret-syncer"],
      ["DaemonSet", "global-pull-secret-syncer"],
      ["Pod", "global-pull-secret-syncer-dryrun"],
    ]);
    const [secret, , daemonSet, pod] = bodies;
    assert.partialDeepStrictEqual(secret, {
      type: "kubernetes.io/dockerconfigjson",
      metadata: { namespace: "kube-system", labels: ownerLabels, resourceVersion: newborn },
      stringData: { ".dockerconfigjson": '{"auths":{}}' },
    });
    const template = daemonSet?.spec?.template;
    assert.deepEqual(pod?.metadata?.labels, template?.metadata?.labels);
    assert.deepEqual(pod?.spec, { ...template?.spec, serviceAccountName: "default" });
    const { containers = [], volumes = [], securityContext } = template?.spec ?? {};
    assert.equal(containers[0]?.image, "r.example/gps:1");
    const paths = volumes.flatMap(({ hostPath }) => hostPath?.path ?? []);
    return [securityContext?.seLinuxOptions?.type, ...paths];
  };
  assert.deepEqual(await tried(node({})), ["spc_t", "/var/lib/kubelet", "/run/systemd"]);
  const talos = node({ image: "Talos (v1.11.0)" });
  assert.deepEqual(await tried(talos), ["spc_t", "/var/lib/kubelet"]);
  const k0s = node({ version: "v1.33.1+k0s" });
  assert.deepEqual(await tried(k0s), ["spc_t", "/var/lib/k0s/kubelet", "/run/systemd"]);
  const bottlerocket = node({ image: "Bottlerocket OS 1.50" });
  assert.equal((await tried(bottlerocket))[0], "super_t");
});

const podSecurity = 'pods "p" is forbidden: violates PodSecurity "baseline:latest": hostPath';
const quota = 'secrets "s" is forbidden: exceeded quota: none, requested: secrets=1';
const webhook = 'admission webhook "w" denied the request: no registry but r.example';
const noRight = 'User "jane" cannot patch resource "daemonsets" in API group "apps"';

for (const [what, args, answers, code, line] of [
  ["a missing right", image, { daemonsets: { detail: noRight } }, 0, /unknown .*: User "jane"/],
  ["Pod Security", [], { pods: { detail: podSecurity } }, 1, /refuses .* Pod: .*PodSecurity/],
  ["a quota", [], { secrets: { detail: quota } }, 1, /refuses .* Secret: .*exceeded quota: none/],
  [
    "a webhook",
    image,
    { pods: { detail: webhook, denied: true, status: 429 } },
    1,
    /refuses .* Pod: .*no registry but r\.example/,
  ],
  [
    "a webhook about our default image",
    [],
    { pods: { detail: webhook, denied: true } },
    0,
    /unknown .* Pod: if this is about the image, give --image: .*no registry but/,
  ],
  [
    "a webhook that hangs",
    image,
    { pods: { status: 500, detail: "failed calling webhook" } },
    0,
    /unknown .* Pod: failed calling webhook/,
  ],
  ["a denial", image, { pods: { detail: webhook, denied: true, status: 409 } }, 1, /refuses/],
  ["a bad object", image, { pods: { status: 400, detail: "odd" } }, 1, /refuses .* Pod: odd/],
  ["an invalid object", image, { pods: { status: 422, detail: "odd" } }, 1, /refuses .* Pod: odd/],
  ["too many requests", image, { secrets: { status: 429 } }, 0, /unknown .*: 429 Forbidden/],
  ["no answer", image, { secrets: { status: 0, detail: "reset" } }, 0, /unknown .*: reset/],
  ["an installation", image, { pods: { status: 409 } }, 0, /unknown .*: it exists already/],
] as const)
  test(`shows the table of nodes, and in one line the dry run's result: ${what}`, async () => {
    const fake = answering(answers, node({}));
    const shown = await call(["preflight", ...args], { cluster: fake });
    assert.equal(shown.code, code);
    assert.match(shown.out, new RegExp(`\ndry run: .*${line.source}`));
    assert.match(shown.out, / would restart 1 kubelet, [^]*\n +1\/1 +kubeadm/);
    assert.match(shown.out, /accepts the agents' (?:\w+, ){2}\w+\n/);
    const values = await call(["preflight", ...args, "-o", "values"], { cluster: fake });
    assert.deepEqual([values.code, values.out], [code, "{}\n"]);
    assert.match(values.err, code === 1 ? line : /^$/);
  });

test("exits with 1 when no node can be served, or when there is no node", async () => {
  const { code, out } = await call(["preflight"], { cluster: cluster(fargate) });
  assert.equal(code, 1);
  assert.doesNotMatch(out, /kubectl debug/);
  const none = await call(["preflight"], { cluster: cluster() });
  assert.deepEqual(none, { code: 1, out: "there are no nodes\n", err: "" });
});

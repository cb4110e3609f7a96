/**
 * Every platform that we know. This table makes the platforms of SUPPORT.md, and decides what
 * `preflight` prints, so that they cannot disagree. Pure.
 */
import type { V1Node } from "@kubernetes/client-node";
import type { DeliveryMode } from "#contract/names.ts";

/** Values of the chart. */
export type Values = Readonly<{
  policy?: Readonly<{ delivery: Readonly<{ mode: DeliveryMode }> }>;
  flags?: Readonly<Record<string, string>>;
}>;

/** Whether a mode can deliver, and the cell of SUPPORT.md about it. */
type Cell = Readonly<{ delivers: boolean; text: string }>;

const yes = (text: string): Cell => ({ delivers: true, text });
const no = (text: string): Cell => ({ delivers: false, text });

const works = yes("works");
const expected = yes("expected to work");
const untried = no("not tried");
const none = no("–");

export type Platform = Readonly<{
  name: string;
  /** `tested`: tests run such a node. `expected`: no test does. `unserved`: nothing can work. */
  state: "tested" | "expected" | "unserved";
  /** How we know. */
  evidence: string;
  /** The kubelet's systemd units: of servers, and of workers if they have another. */
  units: readonly string[];
  /** Whether mode Restart, the default, restarts the kubelet. */
  restarts: boolean;
  restart: Cell;
  provider: Cell;
  runtime: Cell;
  values?: Values;
  /** What to do, as a sentence, if it is not a value of the chart. */
  todo?: string;
  /** Undefined if no field of a Node shows the platform. */
  is?: (node: Facts) => boolean;
}>;

type Facts = Readonly<{
  name: string;
  labels: Readonly<Record<string, string>>;
  version: string;
  image: string;
  os: string;
  /** spec.providerID, which a cloud's controller or the installer sets. */
  provider: string;
}>;

const base = { restart: expected, provider: untried, runtime: untried } as const;
const systemd = { ...base, units: ["kubelet.service"], restarts: true } as const;

const cloud = {
  ...systemd,
  state: "expected",
  provider: no("GPS235: the cloud's own provider is configured"),
  evidence: "read in their published files",
} as const satisfies Partial<Platform>;

const unserved = {
  state: "unserved",
  units: [],
  restarts: false,
  provider: none,
  runtime: none,
} as const;

const reread: Values = { policy: { delivery: { mode: "Reread" } } };
const noSystemd = {
  ...base,
  state: "expected",
  units: [],
  restarts: false,
  restart: no("GPS262: no systemd"),
  values: reread,
  evidence: "tests run `Reread` with a kubelet that no unit starts",
} as const satisfies Partial<Platform>;

/** Units that carry more than a kubelet. */
const carriesMore = {
  ...base,
  state: "expected",
  restarts: false,
  restart: yes("not restarted; the kubelet reads the file within five minutes"),
} as const satisfies Partial<Platform>;

const k3sLike = {
  ...carriesMore,
  provider: no("GPS235"),
  todo: "`--restart-control-plane=Always` restarts them",
  evidence:
    "tests run a unit of the same shape, a kubelet with its containerd, but not these products",
} as const satisfies Partial<Platform>;

const k0sFolder: Values = { flags: { kubeletDirectory: "/var/lib/k0s/kubelet" } };

const superType = {
  ...systemd,
  state: "expected",
  values: { flags: { selinuxType: "super_t" } },
  evidence: "read in source",
} as const satisfies Partial<Platform>;

/** Nodes of MicroShift also have labels of OpenShift. */
const isMicroShift = (labels: Facts["labels"]): boolean =>
  labels["node.kubernetes.io/instance-type"] === "rhde";

/** A node for which no other row fits. */
const ordinary: Platform = {
  ...systemd,
  name: "kubeadm, and others with `kubelet.service`",
  state: "tested",
  restart: works,
  provider: works,
  runtime: yes("works with one directory as `config_path`"),
  evidence:
    "run: `Restart` by the [quick start](docs/use/quick-start.md) with the real kubeadm; other modes on nodes that tests make",
};

/** If several platforms fit a node, one that is not served counts, and otherwise the first. */
export const platforms: readonly Platform[] = [
  ordinary,
  {
    ...systemd,
    name: "kind",
    state: "tested",
    restart: works,
    provider: expected,
    runtime: no("GPS236: containerd's configuration has version 2"),
    evidence: "run: tests follow the [quick start](docs/use/quick-start.md) with two nodes",
    is: ({ provider }) => provider.startsWith("kind://"),
  },
  {
    ...systemd,
    name: "minikube",
    state: "expected",
    evidence: "read in its issues",
    is: ({ labels }) => "minikube.k8s.io/name" in labels,
  },
  { ...noSystemd, name: "Talos", is: ({ image }) => image.startsWith("Talos") },
  { ...noSystemd, name: "k3d", is: ({ image }) => image.startsWith("K3s ") },
  { ...noSystemd, name: "Docker Desktop", is: ({ image }) => image.startsWith("Docker Desktop") },
  {
    ...noSystemd,
    name: "Rancher Desktop and other nodes with Alpine",
    is: ({ image, version }) =>
      /^(?:Alpine|Rancher Desktop)/.test(image) && !version.includes("+k0s"),
  },
  {
    ...noSystemd,
    name: "k0s on Alpine",
    values: { ...reread, ...k0sFolder },
    is: ({ version, image }) => version.includes("+k0s") && image.startsWith("Alpine"),
  },
  {
    ...k3sLike,
    name: "k3s",
    units: ["k3s.service", "k3s-agent.service"],
    is: ({ version }) => version.includes("+k3s"),
  },
  {
    ...k3sLike,
    name: "RKE2",
    units: ["rke2-server.service", "rke2-agent.service"],
    is: ({ version }) => version.includes("+rke2"),
  },
  {
    ...carriesMore,
    name: "k0s",
    units: ["k0scontroller.service", "k0sworker.service"],
    values: k0sFolder,
    evidence: "read in source",
    is: ({ version }) => version.includes("+k0s"),
  },
  {
    ...carriesMore,
    name: "MicroK8s",
    units: ["snap.microk8s.daemon-kubelite.service"],
    values: { flags: { kubeletDirectory: "/var/snap/microk8s/common/var/lib/kubelet" } },
    evidence: "read in source",
    is: ({ labels }) => "microk8s.io/cluster" in labels,
  },
  {
    ...systemd,
    name: "Canonical Kubernetes",
    state: "expected",
    units: ["snap.k8s.kubelet.service"],
    evidence: "read in source",
    is: ({ labels }) => "k8sd.io/role" in labels,
  },
  {
    ...systemd,
    name: "Charmed Kubernetes",
    state: "expected",
    units: ["snap.kubelet.daemon.service"],
    evidence: "read in source",
    is: ({ labels }) => "juju-application" in labels,
  },
  {
    ...unserved,
    name: "EKS Fargate",
    restart: no("left out: no DaemonSet runs there"),
    todo: "exclude them too if you set `--agent-node-selector`",
    evidence: "tests of the selector",
    is: ({ labels }) => labels["eks.amazonaws.com/compute-type"] === "fargate",
  },
  {
    ...unserved,
    name: "virtual-kubelet, KWOK, Liqo's virtual nodes",
    restart: no("left out: they have no kubelet"),
    todo: "exclude them too if you set `--agent-node-selector`",
    evidence: "tests of the selector",
    is: ({ labels }) =>
      ["virtual-kubelet", "kwok"].includes(labels["type"] ?? "") ||
      labels["liqo.io/type"] === "virtual-node",
  },
  {
    ...superType,
    name: "EKS Auto Mode",
    is: ({ labels }) => labels["eks.amazonaws.com/compute-type"] === "auto",
  },
  { ...superType, name: "Bottlerocket", is: ({ image }) => image.startsWith("Bottlerocket") },
  {
    ...cloud,
    name: "EKS (AL2023)",
    runtime: no("GPS236, until `config_path` is one directory"),
    is: ({ labels, version }) =>
      "eks.amazonaws.com/nodegroup" in labels || version.includes("-eks-"),
  },
  {
    ...unserved,
    name: "GKE Autopilot",
    restart: no("no pod may write to its nodes"),
    todo: "nothing helps",
    evidence: "its documentation",
    is: ({ name }) => name.startsWith("gk3-"),
  },
  {
    ...cloud,
    name: "GKE Standard",
    is: ({ labels, version }) =>
      "cloud.google.com/gke-nodepool" in labels || version.includes("-gke."),
  },
  { ...cloud, name: "AKS", is: ({ labels }) => "kubernetes.azure.com/cluster" in labels },
  {
    ...noSystemd,
    name: "MicroShift",
    restart: no("GPS229: its kubelet is part of `microshift.service`"),
    runtime: no("GPS236: CRI-O"),
    evidence: "read in source",
    is: ({ labels }) => isMicroShift(labels),
  },
  {
    ...unserved,
    name: "OpenShift (also with HyperShift)",
    restart: no("refused (GPS323); with HyperShift where its own DaemonSet exists (GPS304)"),
    todo: "use its own global pull secret",
    evidence: "tests with a fake of its API",
    is: ({ labels, image }) =>
      !isMicroShift(labels) &&
      ("node.openshift.io/os_id" in labels || /CoreOS.*(OpenShift|4\d\d\.)/.test(image)),
  },
  {
    ...systemd,
    name: "Kamaji, Cluster API's hosted control planes",
    state: "expected",
    restart: no("depends on the nodes' platform ([hosted](docs/extend/hosted.md))"),
    provider: none,
    runtime: none,
    todo: "install `manifests/hosted`",
    evidence: "tests run two clusters, not these products",
  },
  {
    ...unserved,
    name: "Windows nodes",
    restart: no("left out by the node selector `kubernetes.io/os: linux`"),
    evidence: "read in source",
    is: ({ os }) => os === "windows",
  },
];

/** Every platform that fits the node. The first one counts. */
export function platformsOf({
  metadata,
  spec,
  status,
}: V1Node): readonly [Platform, ...Platform[]] {
  const { kubeletVersion = "", osImage = "", operatingSystem = "linux" } = status?.nodeInfo ?? {};
  const facts = {
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    version: kubeletVersion,
    image: osImage,
    os: operatingSystem,
    provider: spec?.providerID ?? "",
  };
  const fitting = platforms.filter(({ is }) => is?.(facts) === true);
  const unservedFirst = (a: Platform, b: Platform) =>
    Number(b.state === "unserved") - Number(a.state === "unserved");
  const [first = ordinary, ...others] = fitting.toSorted(unservedFirst);
  return [first, ...others];
}

/** The modes that work or are expected to. Mode Reread needs nothing but pods on the nodes. */
export function modesOf({ state, restart, provider, runtime }: Platform): DeliveryMode[] {
  if (state === "unserved") return [];
  return [
    ...(restart.delivers ? (["Restart"] as const) : []),
    "Reread",
    ...(provider.delivers ? (["CredentialProvider"] as const) : []),
    ...(runtime.delivers ? (["Runtime"] as const) : []),
  ];
}

/** What an installer sets and does for a platform, in Markdown. */
export function settingsOf({ values = {}, todo }: Platform): string[] {
  const { policy, flags = {} } = values;
  const kebab = (flag: string) => flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const settings = [
    ...(policy === undefined ? [] : [`\`spec.delivery.mode: ${policy.delivery.mode}\``]),
    ...Object.entries(flags).map(([flag, value]) => `\`--${kebab(flag)}=${value}\``),
  ];
  return [
    ...(settings.length === 0 ? [] : [`set ${settings.join(" and ")}`]),
    ...(todo === undefined ? [] : [todo]),
  ];
}

/**
 * Predicts how this product would work on a cluster's nodes, from the nodes' labels and the data
 * that their kubelets report. Pure.
 */
import type { V1Node } from "@kubernetes/client-node";
import { conditionOf } from "#kube/conditions.ts";
import type { DeliveryMode } from "#contract/names.ts";
import { span, table } from "../terminal/output.ts";
import { stepSeconds, stepsFor } from "./expected.ts";
import type { Paint } from "../terminal/paint.ts";

type Kind = Readonly<{
  distribution: string;
  /** The kubelet's systemd unit. */
  unit: string;
  modes: readonly DeliveryMode[];
  /** Whether mode Restart, the default, restarts the kubelet. */
  restarts: boolean;
  note?: string;
}>;

/** A group of similar nodes, as `-o json` prints it. */
type Group = Kind & Readonly<{ nodes: number; ready: number; examples: readonly string[] }>;

export type Preflight = Readonly<{
  nodes: number;
  groups: readonly Group[];
  /** The nodes with devices whose kubelet restarts in mode Restart. */
  devices: Readonly<{ nodes: number; examples: readonly string[] }>;
  /** The number of kubelets that the first rollout restarts in mode Restart. */
  restarts: number;
  /** Seconds that the rollout takes, with at most 10 % of the nodes at the same time. */
  seconds: number;
}>;

const systemd = { unit: "kubelet.service", restarts: true } as const;
/** A node that its owner can prepare for every mode. */
const prepared = { ...systemd, modes: ["Restart", "Reread", "CredentialProvider"] } as const;
const cloud = {
  ...systemd,
  modes: ["Restart", "Reread"],
  note: "not CredentialProvider: the cloud's own provider is configured (GPS235)",
} as const satisfies Omit<Kind, "distribution">;

/** A kind of node on which the product changes nothing. */
const unserved = (distribution: string, note: string): Kind => ({
  distribution,
  unit: "-",
  modes: [],
  restarts: false,
  note,
});

/** A kind of node whose kubelet is not a systemd unit. */
const withoutUnit = (distribution: string, reason: string): Kind => ({
  distribution,
  unit: "-",
  modes: ["Reread"],
  restarts: false,
  note: `${reason}: set spec.delivery.mode: Reread`,
});

/**
 * Kinds of nodes. The first row that matches a node counts. docs/use/delivery-node.md and README.md
 * describe how we know each row.
 */
const kinds: readonly (readonly [(node: Facts) => boolean, Kind])[] = [
  [({ os }) => os === "windows", unserved("Windows", "not supported")],
  [
    ({ labels }) => labels["eks.amazonaws.com/compute-type"] === "fargate",
    unserved("EKS Fargate", "no DaemonSet runs there"),
  ],
  [
    ({ labels }) =>
      ["virtual-kubelet", "kwok"].includes(labels["type"] ?? "") ||
      labels["liqo.io/type"] === "virtual-node",
    unserved("virtual kubelet", "there is no node"),
  ],
  [
    ({ labels }) => labels["node.kubernetes.io/instance-type"] === "rhde",
    withoutUnit("MicroShift", "its kubelet is part of microshift.service"),
  ],
  [
    ({ labels, image }) =>
      "node.openshift.io/os_id" in labels || /CoreOS.*(OpenShift|4\d\d\.)/.test(image),
    {
      ...unserved(
        "OpenShift",
        "nothing is deployed (GPS323): use the cluster's own global pull secret",
      ),
      unit: systemd.unit,
    },
  ],
  ...(["k3s", "rke2"] as const).flatMap((name) => {
    const is = ({ version }: Facts) => version.includes(`+${name}`);
    const carriesMore = {
      modes: ["Restart", "Reread"],
      restarts: false,
      note: "its unit carries more than a kubelet: not restarted, the kubelet reads the file within 5 minutes",
    } as const;
    const server: Kind = {
      ...carriesMore,
      distribution: `${name} server`,
      unit: name === "k3s" ? "k3s.service" : "rke2-server.service",
    };
    const agent: Kind = {
      ...carriesMore,
      distribution: `${name} agent`,
      unit: `${name}-agent.service`,
    };
    return [
      [(node: Facts) => is(node) && isControlPlane(node), server] as const,
      [is, agent] as const,
    ];
  }),
  [({ image }) => image.startsWith("Talos"), withoutUnit("Talos", "no systemd")],
  [
    ({ labels, version }) => "eks.amazonaws.com/nodegroup" in labels || version.includes("-eks-"),
    { ...cloud, distribution: "EKS" },
  ],
  [
    ({ labels, version }) => "cloud.google.com/gke-nodepool" in labels || version.includes("-gke."),
    { ...cloud, distribution: "GKE", note: `${cloud.note}; Autopilot pods may not write to nodes` },
  ],
  [({ labels }) => "kubernetes.azure.com/cluster" in labels, { ...cloud, distribution: "AKS" }],
  [({ provider }) => provider.startsWith("kind://"), { ...prepared, distribution: "kind" }],
  [() => true, { ...prepared, distribution: "kubeadm or another" }],
];

type Facts = Readonly<{
  labels: Readonly<Record<string, string>>;
  version: string;
  image: string;
  os: string;
  /** spec.providerID, which a cloud's controller or the installer sets. */
  provider: string;
}>;

const isControlPlane = ({ labels }: Facts): boolean =>
  "node-role.kubernetes.io/control-plane" in labels || "node-role.kubernetes.io/etcd" in labels;

export function kindOf({ metadata, spec, status }: V1Node): Kind {
  const { kubeletVersion = "", osImage = "", operatingSystem = "linux" } = status?.nodeInfo ?? {};
  const facts = {
    labels: metadata?.labels ?? {},
    version: kubeletVersion,
    image: osImage,
    os: operatingSystem,
    provider: spec?.providerID ?? "",
  };
  const row = kinds.find(([fits]) => fits(facts)) as (typeof kinds)[number];
  return row[1];
}

/**
 * Whether the node has extended resources, such as `nvidia.com/gpu`, which are the only ones with a
 * domain. Device plugins register them, and a few controllers.
 */
const hasDevices = ({ status }: V1Node): boolean =>
  Object.entries(status?.allocatable ?? {}).some(
    ([name, amount]) => name.includes("/") && amount !== "0",
  );

type Counts = { nodes: number; ready: number; examples: string[] };

function count(counts: Omit<Counts, "ready">, node: V1Node): void {
  counts.nodes += 1;
  if (counts.examples.length < 3) counts.examples.push(node.metadata?.name ?? "");
}

/** Counts the nodes of each kind, page by page. It stores only counts, even for 5,000 nodes. */
export class Preflighter {
  readonly #groups = new Map<Kind, Counts>();
  readonly #devices = { nodes: 0, examples: [] };

  add(node: V1Node): void {
    const kind = kindOf(node);
    const group = this.#groups.get(kind) ?? { nodes: 0, ready: 0, examples: [] };
    count(group, node);
    if (conditionOf(node.status, "Ready")?.status === "True") group.ready += 1;
    this.#groups.set(kind, group);
    if (kind.restarts && hasDevices(node)) count(this.#devices, node);
  }

  result(): Preflight {
    const groups = [...this.#groups].map(([kind, counts]) => Object.assign({}, kind, counts));
    const nodes = nodesIn(groups);
    const restarts = nodesIn(groups.filter((group) => group.restarts));
    return {
      nodes,
      groups: groups.toSorted((a, b) => b.nodes - a.nodes),
      devices: this.#devices,
      restarts,
      seconds: stepsFor(restarts, { maxUnavailable: "10%", nodes }) * stepSeconds(),
    };
  }
}

const nodesIn = (groups: readonly Readonly<{ nodes: number }>[]): number =>
  groups.reduce((sum, { nodes }) => sum + nodes, 0);

/**
 * Files from which kubelets take credentials, in the kubelet's order. Agents create the first file,
 * and the kubelet then ignores the others (docs/use/install.md).
 */
const credentialFiles = [
  "/var/lib/kubelet/config.json",
  "/config.json",
  "/root/.docker/config.json",
  "/.docker/config.json",
  "/var/lib/kubelet/.dockercfg",
  "/.dockercfg",
  "/root/.dockercfg",
];

export function preflightLines(preflight: Preflight, paint: Paint): string[] {
  if (preflight.nodes === 0) return ["there are no nodes"];
  const rows = preflight.groups.map(({ nodes, ready, distribution, unit, modes, restarts }) => ({
    isGood: modes.length > 0,
    cells: [
      `${ready}/${nodes}`,
      distribution,
      unit,
      modes.join(", ") || "none",
      restarts ? "yes" : "no",
    ],
  }));
  const notes = preflight.groups.flatMap(({ distribution, note, examples }) =>
    note === undefined ? [] : [`  ${distribution} (${examples.join(", ")}): ${note}`],
  );
  const { devices } = preflight;
  if (devices.nodes > 0)
    notes.push(
      `  devices on ${devices.nodes} of these nodes (${devices.examples.join(", ")}): a kubelet ` +
        "restart can end pods that use them (UnexpectedAdmissionError); mode Reread avoids it",
    );
  const served = nodesIn(preflight.groups.filter(({ modes }) => modes.length > 0));
  const ink = served === preflight.nodes ? paint.good : paint.doubt;
  return [
    ink(`${served} of ${preflight.nodes} nodes can be served`),
    preflight.restarts === 0
      ? "no kubelet would restart"
      : `a rollout in mode Restart would restart ${preflight.restarts} kubelets, 10 % at a time: ` +
        `about ${span(preflight.seconds)}; containers keep running`,
    ...table(["READY", "NODES OF", "KUBELET'S UNIT", "MODES", "RESTARTS"], rows, paint),
    ...notes,
    "if a node has only one of the later files, move its entries to the first file before you install:",
    `  kubectl debug node/NAME -it --image=busybox -- ls -l ${credentialFiles.map((file) => `/host${file}`).join(" ")}`,
  ];
}

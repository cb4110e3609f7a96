/**
 * Predicts how this product would work on a cluster's nodes, from the nodes' labels and the data
 * that their kubelets report. Pure.
 */
import type { V1Node } from "@kubernetes/client-node";
import { conditionOf } from "#kube/conditions.ts";
import type { DeliveryMode } from "#contract/names.ts";
import type { DryRun } from "../cluster/dry-run.ts";
import { span, table } from "../terminal/output.ts";
import { modesOf, platformsOf, settingsOf, type Platform, type Values } from "./platforms.ts";
import type { Paint } from "../terminal/paint.ts";

type Kind = Readonly<{
  distribution: string;
  state: Platform["state"];
  /** The kubelet's systemd unit. */
  unit: string;
  modes: readonly DeliveryMode[];
  /** Whether mode Restart, the default, restarts the kubelet. */
  restarts: boolean;
  /** What to know about these nodes. */
  note?: string;
  /** Values of the chart that these nodes need. */
  values?: Values;
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

/** Versions below these are older than any that tests run. */
const oldest = { kubelet: [1, 31], containerd: [2, 0] } as const;

const isBelow = (version: string, [major, minor]: readonly [number, number]): boolean => {
  const [, its = "", least = ""] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return its !== "" && (Number(its) < major || (Number(its) === major && Number(least) < minor));
};

/** The parts of a node that are older than those that tests run. */
function oldPartsOf({ status }: V1Node): string[] {
  const { kubeletVersion = "", containerRuntimeVersion: runtime = "" } = status?.nodeInfo ?? {};
  return [
    ...(isBelow(kubeletVersion, oldest.kubelet) ? [`kubelet ${kubeletVersion}`] : []),
    ...(runtime.startsWith("containerd:") && isBelow(runtime, oldest.containerd)
      ? [runtime.replace("://", " ")]
      : []),
  ];
}

/**
 * Whether the node's containerd sends the headers of hosts.toml to token services. Only the node's
 * configuration shows whether it uses the files (docs/use/delivery-runtime.md).
 */
function hasHosts({ status }: V1Node): boolean {
  const { containerRuntimeVersion: runtime = "" } = status?.nodeInfo ?? {};
  return runtime.startsWith("containerd:") && !isBelow(runtime, [2, 1]);
}

export function kindOf(node: V1Node): Kind {
  const [platform] = platformsOf(node);
  const { name, units, restarts, restart, provider, runtime, evidence, values } = platform;
  const old = oldPartsOf(node);
  const isOld = platform.state === "tested" && old.length > 0;
  const state = isOld ? "expected" : platform.state;
  const modes = modesOf(platform).filter((mode) => mode !== "Runtime" || hasHosts(node));
  const isServed = state !== "unserved";
  const notes = [
    ...(platform.state === "expected"
      ? [`expected to work, but no test runs it (${evidence})`]
      : []),
    ...old.map((part) => `${part} is older than those of our tests`),
    ...(restarts ? [] : [restart.text]),
    ...(isServed && !provider.delivers ? [`CredentialProvider: ${provider.text}`] : []),
    ...(isServed && hasHosts(node) ? [`Runtime: ${runtime.text}`] : []),
    ...settingsOf(platform),
  ];
  return {
    distribution: plain(name),
    state,
    unit: (isControlPlane(node) ? units[0] : units.at(-1)) ?? "-",
    modes,
    restarts,
    ...(notes.length > 0 && { note: plain(notes.join("; ")) }),
    ...(values && { values }),
  };
}

/** Without Markdown's marks, and without our links, which lead into a checkout. */
const plain = (text: string): string =>
  text.replaceAll("`", "").replaceAll(/ ?\(\[[^\]]+\]\([^)]+\)\)/g, "");

const isControlPlane = ({ metadata }: V1Node): boolean =>
  ["control-plane", "etcd"].some(
    (role) => `node-role.kubernetes.io/${role}` in (metadata?.labels ?? {}),
  );

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
  /** The kind as JSON → its nodes. */
  readonly #groups = new Map<string, Counts & Readonly<{ kind: Kind }>>();
  readonly #devices = { nodes: 0, examples: [] };

  add(node: V1Node): void {
    const kind = kindOf(node);
    const key = JSON.stringify(kind);
    const group = this.#groups.get(key) ?? { kind, nodes: 0, ready: 0, examples: [] };
    count(group, node);
    if (conditionOf(node.status, "Ready")?.status === "True") group.ready += 1;
    this.#groups.set(key, group);
    if (kind.restarts && hasDevices(node)) count(this.#devices, node);
  }

  result(): Preflight {
    const groups = [...this.#groups.values()].map(({ kind, ...counts }) =>
      Object.assign({}, kind, counts),
    );
    const nodes = nodesIn(groups);
    const restarts = nodesIn(groups.filter((group) => group.restarts));
    return {
      nodes,
      groups: groups.toSorted((a, b) => b.nodes - a.nodes),
      devices: this.#devices,
      restarts,
      seconds: stepsFor(restarts, nodes) * stepSeconds,
    };
  }
}

/**
 * Seconds of one step of a rollout with the default probation of 5 s. Four nodes, one after the
 * other, took 36.8 s.
 */
const stepSeconds = 9;

/**
 * The number of steps of a rollout to `some` of all nodes. One node changes first, then three, then
 * nine and so on, up to 10 % of all nodes, rounded up.
 */
function stepsFor(some: number, nodes: number): number {
  const most = Math.ceil(nodes / 10);
  let steps = 0;
  for (let done = 0; done < some; steps += 1) done += Math.min(most, 1 + 2 * done);
  return steps;
}

const nodesIn = (groups: readonly Readonly<{ nodes: number }>[]): number =>
  groups.reduce((sum, { nodes }) => sum + nodes, 0);

/**
 * Files from which kubelets take credentials, in the kubelet's order. Agents create the first file,
 * and the kubelet then ignores the others (docs/use/install.md).
 */
const credentialFiles = (directory: string): readonly string[] => [
  `${directory}/config.json`,
  "/config.json",
  "/root/.docker/config.json",
  "/.docker/config.json",
  `${directory}/.dockercfg`,
  "/.dockercfg",
  "/root/.dockercfg",
];

/** The kubelets' directories on the nodes that can be served. */
const directoriesOf = ({ groups }: Preflight): ReadonlySet<string> =>
  new Set(
    groups
      .filter(({ modes }) => modes.length > 0)
      .map(({ values }) => values?.flags?.["kubeletDirectory"] ?? "/var/lib/kubelet"),
  );

export function preflightLines(
  preflight: Preflight & Readonly<{ dryRun: DryRun }>,
  paint: Paint,
): string[] {
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
  const of = (state: Kind["state"]) =>
    nodesIn(preflight.groups.filter((group) => group.state === state));
  const [tested, expected] = [of("tested"), of("expected")];
  const ink = tested === preflight.nodes ? paint.good : paint.doubt;
  return [
    ink(
      `${tested} of ${preflight.nodes} nodes can be served` +
        (expected === 0 ? "" : `; ${expected} more are expected to work, but no test runs them`),
    ),
    preflight.restarts === 0
      ? "no kubelet would restart"
      : `a rollout in mode Restart would restart ${preflight.restarts} kubelet${preflight.restarts === 1 ? "" : "s"}, 10 % at a time: ` +
        `about ${span(preflight.seconds)}; containers keep running`,
    ...dryRunLines(preflight.dryRun, paint),
    ...table(["READY", "NODES OF", "KUBELET'S UNIT", "MODES", "RESTARTS"], rows, paint),
    ...notes,
    "if a node has only one of the later files, move its entries to the first file before you install:",
    ...Array.from(directoriesOf(preflight), (directory) => {
      const files = credentialFiles(directory).map((file) => `/host${file}`);
      return `  kubectl debug node/NAME -it --image=busybox -- ls -l ${files.join(" ")}`;
    }),
  ];
}

/** One line for each object that may not be created, and one line for all others. */
export function dryRunLines(dryRun: DryRun, paint: Paint): string[] {
  const accepted = dryRun.filter(({ result }) => result === "accepted").map(({ kind }) => kind);
  return [
    ...(accepted.length === 0
      ? []
      : [paint.good(`dry run: the API server accepts the agents' ${accepted.join(", ")}`)]),
    ...dryRun.flatMap((trial) => {
      if (trial.result === "accepted") return [];
      const { kind, reason } = trial;
      if (trial.result === "unknown")
        return [paint.doubt(`dry run: unknown for the agents' ${kind}: ${reason}`)];
      return [paint.bad(`dry run: the API server refuses the agents' ${kind}: ${reason}`)];
    }),
  ];
}

/**
 * The chart's values for all nodes that can be served. A setting counts for all nodes, so a second
 * value for the same setting is a conflict, and so is a kind of node that does not need it.
 */
export function valuesFor({ groups }: Preflight): Readonly<{ values: Values; conflict?: string }> {
  const served = groups.filter(({ modes }) => modes.length > 0);
  const needs = new Map(served.map((group) => [JSON.stringify(group.values ?? {}), group]));
  const [first] = needs.values();
  if (needs.size <= 1) return { values: first?.values ?? {} };
  const names = [...needs.values()].map(({ distribution }) => distribution).join(", ");
  return {
    values: { policy: { delivery: { mode: "Reread" } } },
    conflict:
      `${names}: need different values, but one release has the same for all nodes; mode Reread ` +
      "needs no systemd and no SELinux type, but one kubelet directory",
  };
}

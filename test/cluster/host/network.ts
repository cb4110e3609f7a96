/**
 * Makes one cluster's network, which is separate from the machine's network. A namespace "hub"
 * contains the control plane, the registries and a bridge. Each node has its own namespace. A
 * single veth pair connects the machine with the hub. There is no route to any other network.
 *
 * The cluster's slot N (state.ts) determines all addresses, which are in 10.(100+N).0.0/16: hub
 * .0.1, node i .0.(10+i), pods of node i .i.0/24, Services .255.0/24. Clients in pods call the API
 * server at the first Service address. The hub itself has this address, so the cluster needs no
 * kube-proxy.
 */
import { existsSync } from "node:fs";
import { run, runSync } from "../run.ts";

export type Network = Readonly<{
  /**
   * Prefix of every name that the cluster has in the kernel: namespaces NAME-hub, NAME-nodeI,
   * device NAME.
   */
  device: string;
  all: string;
  hub: string;
  /** The machine's own address in this network. */
  machine: string;
  services: string;
  /** ClusterIP of the Service default/kubernetes. */
  api: string;
  node: (index: number) => string;
  pods: (index: number) => string;
}>;

/** 100 slots: 10.100.0.0/16 to 10.199.0.0/16. */
export const slots = 100;

export function networkOf(slot: number): Network {
  const prefix = `10.${100 + slot}`;
  return {
    device: `gps${slot}`,
    all: `${prefix}.0.0/16`,
    hub: `${prefix}.0.1`,
    machine: `${prefix}.254.1`,
    services: `${prefix}.255.0/24`,
    api: `${prefix}.255.1`,
    node: (index) => `${prefix}.0.${10 + index}`,
    pods: (index) => `${prefix}.${index}.0/24`,
  };
}

/** The command line that runs a program in one of the cluster's namespaces (`hub`, `node1`, …). */
export function inNamespace(network: Network, name: string, argv: readonly string[]): string[] {
  return ["nsenter", `--net=/run/netns/${network.device}-${name}`, ...argv];
}

/** Returns true if another program on this machine uses these names or addresses. */
export async function isTaken(network: Network): Promise<boolean> {
  if (existsSync(`/run/netns/${network.device}-hub`)) return true;
  const routes = JSON.parse(await run(["ip", "-json", "-4", "route", "show", "table", "all"])) as {
    dst: string;
  }[];
  const ours = network.all.split(".").slice(0, 2).join(".");
  return routes.some(({ dst }) => dst.startsWith(`${ours}.`));
}

export async function makeHub(network: Network): Promise<void> {
  const { device, machine } = network;
  const up = network.hub.replace(".0.1", ".254.2");
  await run(["ip", "netns", "add", `${device}-hub`]);
  await batch([
    `link add ${device} type veth peer name uplink netns ${device}-hub`,
    `addr add ${machine}/30 dev ${device}`,
    `link set ${device} up`,
    `route add ${network.all} via ${up}`,
  ]);
  await batch(
    [
      "link set lo up",
      `addr add ${network.api}/32 dev lo`,
      "link add bridge type bridge",
      `addr add ${network.hub}/24 dev bridge`,
      "link set bridge up",
      `addr add ${up}/30 dev uplink`,
      "link set uplink up",
    ],
    `${device}-hub`,
  );
  await run(inNamespace(network, "hub", ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]));
}

export async function makeNodeNetwork(network: Network, index: number): Promise<void> {
  const name = `${network.device}-node${index}`;
  await run(["ip", "netns", "add", name]);
  await batch(
    [
      `link add node${index} type veth peer name eth0 netns ${name}`,
      `link set node${index} master bridge up`,
      `route add ${network.pods(index)} via ${network.node(index)} dev bridge`,
    ],
    `${network.device}-hub`,
  );
  await batch(
    [
      "link set lo up",
      `addr add ${network.node(index)}/24 dev eth0`,
      "link set eth0 up",
      `route add default via ${network.hub}`,
    ],
    name,
  );
  // The CNI plugin ptp requires this setting. The plugin cannot write it inside the node, because
  // /proc/sys is read-only.
  await run(
    inNamespace(network, `node${index}`, ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]),
  );
}

/**
 * Connects two hubs with a veth pair, so that pods of each cluster reach the other cluster's API
 * server. The pair disappears when one of the hubs is removed. Each hub answers ARP for its own
 * address, so the pair itself needs no addresses.
 */
export async function joinHubs(network: Network, other: Network): Promise<void> {
  const [here, peer] = [`to-${other.device}`, `to-${network.device}`];
  const hub = `${other.device}-hub`;
  await run(
    ["ip", "-netns", `${network.device}-hub`].concat([
      "link",
      "add",
      here,
      "type",
      "veth",
      "peer",
      "name",
      peer,
      "netns",
      hub,
    ]),
  );
  for (const [{ device }, name, far] of [
    [network, here, other],
    [other, peer, network],
  ] as const) {
    const route = `route add ${far.all} via ${far.hub} dev ${name} onlink`;
    await batch([`link set ${name} up`, route], `${device}-hub`);
  }
}

/**
 * Removes every namespace and device of the cluster. Missing namespaces and devices are not an
 * error.
 */
export function removeNetwork(network: Network): void {
  const names = (runSync(["ip", "netns", "list"]) ?? "")
    .split("\n")
    .map((line) => line.split(" ")[0] ?? "");
  for (const name of names)
    if (name.startsWith(`${network.device}-`)) runSync(["ip", "netns", "delete", name]);
  // Deletes the device at once. The kernel would delete it some time after the hub's namespace.
  runSync(["ip", "link", "delete", network.device]);
}

async function batch(commands: readonly string[], namespace?: string): Promise<void> {
  const where = namespace === undefined ? [] : ["-netns", namespace];
  await run(["ip", ...where, "-batch", "-"], { input: `${commands.join("\n")}\n` });
}

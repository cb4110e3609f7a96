/**
 * One real node: a booted systemd with containerd and a kubelet. Tests can stop, break and inspect
 * it.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "./await.ts";
import type { Authority } from "./host/certificates.ts";
import { makeGroups, processes, removeGroups } from "./host/cgroup.ts";
import { startDaemon } from "./host/daemon.ts";
import { makeNodeNetwork, type Network } from "./host/network.ts";
import { nodeFiles, programs } from "./host/nodefiles.ts";
import { layNode, sharedMounts } from "./kit/rootfs.ts";
import { run } from "./run.ts";
import type { Kit } from "./setup.ts";

/**
 * Boots the node without systemd-machined and without files of this machine, and allows the system
 * calls that runc needs.
 */
const nspawnFlags = [
  "--boot",
  "--quiet",
  "--register=no",
  "--keep-unit",
  "--capability=all",
  "--system-call-filter=@keyring bpf",
  "--resolv-conf=off",
  "--timezone=off",
  "--link-journal=no",
  "--console=pipe",
];

const namespaces = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"];

const dropIn = "etc/systemd/system/kubelet.service.d/50-broken.conf";

/** What a node shares with its cluster. `groups` are the cluster's own control groups. */
export type NodePlace = Readonly<{
  directory: string;
  network: Network;
  groups: readonly string[];
}>;

export class Node {
  readonly name: string;
  readonly address: string;
  /**
   * The node's root file system as this machine sees it. It lacks the file systems that are mounted
   * inside the node.
   */
  readonly rootfs: string;
  readonly #index: number;
  readonly #kit: Kit;
  readonly #network: Network;
  readonly #groups: readonly string[];

  constructor(kit: Kit, place: NodePlace, index: number) {
    const { directory, network, groups } = place;
    this.name = `node${index}`;
    this.address = network.node(index);
    this.rootfs = join(directory, this.name);
    this.#index = index;
    this.#kit = kit;
    this.#network = network;
    this.#groups = groups.map((group) => join(group, this.name));
  }

  /** Makes the node's network and root file system. Does not boot the node. */
  async prepare(authority: Authority, server: string): Promise<void> {
    await authority.sign(this.name, `/O=system:nodes/CN=system:node:${this.name}`);
    const kubeconfig = readFileSync(authority.kubeconfig(this.name, server), "utf8");
    const ca = readFileSync(join(authority.directory, "ca.crt"), "utf8");
    mkdirSync(this.rootfs);
    layNode(this.#kit.debian, this.rootfs);
    for (const [path, content] of Object.entries(
      nodeFiles(this.#index, this.#network, kubeconfig, ca),
    )) {
      this.#put(path, content);
    }
    await makeNodeNetwork(this.#network, this.#index);
  }

  /**
   * Boots the node; returns once its systemd answers. The API reports the node as Ready about a
   * second later.
   */
  async start(): Promise<void> {
    const machine = `${this.#network.device}-${this.name}`;
    const { check } = startDaemon({
      name: this.name,
      log: `${this.rootfs}.log`,
      // The node gets its own group in every hierarchy, so that its systemd and its containers
      // share no group with another node.
      groups: makeGroups(this.#groups.map(dirname), this.name),
      argv: [
        "systemd-nspawn",
        ...nspawnFlags,
        `--machine=${machine}`,
        `--hostname=${this.name}`,
        `--network-namespace-path=/run/netns/${machine}`,
        `--bind-ro=${this.#kit.parts.directory}:${programs}`,
        `--bind-ro=${this.#kit.parts.path("kubelet")}:${programs}/kubelet`,
        ...sharedMounts(this.#kit.debian),
        `--directory=${this.rootfs}`,
      ],
    });
    await until(
      `the systemd of ${this.name} answers`,
      async () => {
        check();
        return (await this.exec(["systemctl", "show", "--property=Version"])) !== "";
      },
      { timeout: 30_000, every: 50 },
    );
  }

  /** Kills every process of the node at once, as if the node lost its power. */
  stop(): void {
    removeGroups(this.#groups);
  }

  async reboot(): Promise<void> {
    this.stop();
    await this.start();
  }

  /** Runs a program inside the node as its root, and returns its stdout. */
  async exec(argv: readonly string[], input = ""): Promise<string> {
    const env = { PATH: `${programs}:/usr/sbin:/usr/bin:/sbin:/bin`, TERM: "dumb" };
    return await run(
      ["nsenter", `--target=${this.#leader()}`, ...namespaces, "--root", "--wd", ...argv],
      {
        env,
        input,
      },
    );
  }

  /** Properties of a unit, by default of kubelet.service, as systemctl show prints them. */
  async unit<P extends string>(
    properties: readonly P[],
    unit = "kubelet.service",
  ): Promise<Record<P, string>> {
    const text = await this.exec(["systemctl", "show", unit, `--property=${properties.join(",")}`]);
    const pairs = text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
    });
    return Object.fromEntries(pairs) as Record<P, string>;
  }

  /** Everything that a unit logged, including before a reboot, in UTC. Works for a stopped node. */
  async journal(unit = "kubelet.service"): Promise<string> {
    const directory = join(this.rootfs, "var/log/journal");
    return await run([
      "journalctl",
      `--directory=${directory}`,
      `--unit=${unit}`,
      "--output=short-iso-precise",
      "--utc",
      "--no-pager",
    ]);
  }

  /** A file below /var/lib/kubelet; undefined if it does not exist. */
  readFile(path: string): Buffer | undefined {
    const file = join(this.rootfs, "var/lib/kubelet", path);
    return existsSync(file) ? readFileSync(file) : undefined;
  }

  /** Writes a file below /var/lib/kubelet; `undefined` removes it. */
  writeFile(path: string, content: string | Uint8Array | undefined, mode = 0o600): void {
    const file = join(this.rootfs, "var/lib/kubelet", path);
    if (content === undefined) return rmSync(file, { force: true });
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
  }

  /**
   * Makes each later start of the kubelet fail, until you call healKubelet. A running kubelet
   * continues. `lines` is the content of the unit's drop-in, by default a failing ExecStartPre.
   */
  async breakKubelet(lines = "[Service]\nExecStartPre=/bin/false\n"): Promise<void> {
    this.#put(dropIn, lines);
    await this.exec(["systemctl", "daemon-reload"]);
  }

  /**
   * Undoes breakKubelet. If the kubelet is down, its unit's Restart=always starts it within a
   * second.
   */
  async healKubelet(): Promise<void> {
    rmSync(join(this.rootfs, dropIn), { force: true });
    await this.exec(["systemctl", "daemon-reload"]);
  }

  #put(path: string, content: string): void {
    const file = join(this.rootfs, path);
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true }); // can be a link into the shared /usr
    writeFileSync(file, content, path.endsWith("kubeconfig") ? { mode: 0o600 } : {});
  }

  /** PID of the node's systemd: the oldest process of its init.scope. */
  #leader(): number {
    for (const group of this.#groups) {
      const [pid] = processes(join(group, "payload/init.scope"));
      if (pid !== undefined) return pid;
    }
    throw new Error(`${this.name} is not running`);
  }
}

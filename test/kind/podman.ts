/**
 * podman in namespaces of its own, so that its networks, mounts and processes are not the
 * machine's. They disappear with the test's process, like the nodes of other cluster tests.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../cluster/await.ts";
import { delegate, inGroups, makeGroups } from "../cluster/host/cgroup.ts";
import { startDaemon } from "../cluster/host/daemon.ts";
import { networkOf } from "../cluster/host/network.ts";
import { claim, directoryOf } from "../cluster/host/state.ts";
import { remove, sweep, watchOver } from "../cluster/host/sweep.ts";
import { directEnvironment, run } from "../cluster/run.ts";

/** File → its package. */
export const podmanPackages: Readonly<Record<string, string>> = {
  "/usr/bin/podman": "podman",
  "/usr/bin/crun": "crun",
  "/usr/bin/conmon": "conmon",
  "/usr/bin/catatonit": "catatonit",
  "/usr/lib/podman/netavark": "netavark",
  "/usr/lib/podman/aardvark-dns": "aardvark-dns",
};

/**
 * Writes podman's configuration, and returns the variables that name it. podman keeps its images in
 * `images`, and also uses those in `prepared`.
 */
export function configurePodman(
  directory: string,
  images: string,
  prepared: readonly string[] = [],
): Record<string, string> {
  mkdirSync(join(directory, "networks"), { recursive: true });
  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text);
    return join(directory, name);
  };
  return {
    CONTAINERS_STORAGE_CONF: write(
      "storage.conf",
      `[storage]
driver = "overlay"
graphroot = "${images}"
runroot = "${directory}/run"
[storage.options]
additionalimagestores = ${JSON.stringify(prepared)}
`,
    ),
    // podman lowers its own limits and may not raise them again, so it has to choose these.
    CONTAINERS_CONF: write(
      "containers.conf",
      `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=32768:32768"]
[network]
network_backend = "netavark"
network_config_dir = "${directory}/networks"
[engine]
runtime = "crun"
cgroup_manager = "cgroupfs"
events_logger = "file"
static_dir = "${directory}/static"
volume_path = "${directory}/volumes"
tmp_dir = "${directory}/temporary"
`,
    ),
    CONTAINERS_REGISTRIES_CONF: write(
      "registries.conf",
      'unqualified-search-registries = []\n[[registry]]\nlocation = "localhost"\ninsecure = true\n',
    ),
    REGISTRY_AUTH_FILE: write("login.json", "{}"),
  };
}

/** Mounts the control groups again, so that the namespace's own group is the root of each. */
function groupMounts(): string {
  const mounted = readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" "))
    .filter(([, , type]) => type === "cgroup");
  const mount = "mount -t tmpfs cgroup /sys/fs/cgroup";
  if (mounted.length === 0) return "mount -t cgroup2 cgroup /sys/fs/cgroup";
  return [
    mount,
    ...mounted.map(([, path = "", , options = ""]) => {
      const [controllers = ""] = options.split(",relatime,").slice(-1);
      const named = controllers.startsWith("name=") ? `none,${controllers}` : controllers;
      return `mkdir ${path} && mount -t cgroup -o ${named} cgroup ${path}`;
    }),
  ].join("\n");
}

export type Podman = Readonly<{
  /** A folder for files of this podman; removed with it. */
  directory: string;
  env: Readonly<Record<string, string>>;
  /** The command line that runs a program where podman runs. */
  inside: (argv: readonly string[]) => string[];
  /** Runs a program where podman runs, and returns its stdout. */
  run: (argv: readonly string[]) => Promise<string>;
  /** Ends every process, and removes every file. */
  end: () => void;
}>;

/** Makes the namespaces. podman finds the images in the folder `prepared`. */
export async function startPodman(prepared: string): Promise<Podman> {
  sweep();
  const state = await claim({ name: `podman-${process.pid}`, users: {} });
  watchOver(state);
  const directory = directoryOf(state);
  delegate(makeGroups(state.groups.map(dirname), networkOf(state.slot).device));
  const groups = makeGroups(state.groups, "podman");
  const ready = join(directory, "ready");
  const script = `set -e
umount --recursive /sys/fs/cgroup
${groupMounts()}
mount -t tmpfs run /run
ip link set lo up
touch ${ready}
exec sleep infinity`;
  // Killing the first process of the process namespace kills all others.
  const apart = ["--mount", "--net", "--cgroup", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const { pid, check } = startDaemon({
    name: "podman's namespaces",
    argv: ["unshare", ...apart, "sh", "-c", script],
    groups,
    log: join(directory, "namespaces.log"),
  });
  await until("the namespaces are made", () => {
    check();
    return readFileSync(ready) !== undefined;
  });
  const namespaces = ["--mount", "--net", "--cgroup", `--pid=/proc/${pid}/ns/pid_for_children`];
  const inside = (argv: readonly string[]): string[] =>
    inGroups(groups, ["nsenter", `--target=${pid}`, ...namespaces, "--", ...argv]);
  // kind's nodes mount this folder.
  mkdirSync("/lib/modules", { recursive: true });
  const env = directEnvironment(configurePodman(directory, join(directory, "images"), [prepared]));
  return {
    directory,
    env,
    inside,
    run: (argv) => run(inside(argv), { env }),
    end: () => remove(state),
  };
}

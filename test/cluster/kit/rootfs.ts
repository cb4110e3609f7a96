/**
 * The Debian that every node boots, made once by debootstrap.
 *
 * A node gets /etc and /var of its own (a few MB, copied quickly). The nodes share /usr read-only,
 * because Kubernetes and our programs write nothing to /usr.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "../cache.ts";
import { debianMirror } from "./debian.ts";
import { progress, run } from "../run.ts";

/** Debian 12: its systemd 252 and runc 1.1 still support cgroup v1, later versions do not. */
const suite = "bookworm";

/**
 * The nodes do not need libatomic1 and busybox-static. But the tests' images are made from these
 * packages' files.
 */
const nodePackages = [
  "systemd",
  "systemd-sysv",
  "dbus",
  "runc",
  "iproute2",
  "libstdc++6",
  "libatomic1",
  "busybox-static",
];

/** Disabled units: an unused console and its logins, and timers that no node needs. */
const unwanted = [
  "console-getty.service",
  "getty@.service",
  "systemd-logind.service",
  "apt-daily.timer",
];
const unwantedTimers = [
  "apt-daily-upgrade.timer",
  "dpkg-db-backup.timer",
  "e2scrub_all.timer",
  "fstrim.timer",
];

/**
 * Returns the directory of a Debian with these packages, in the newest version of its mirror. The
 * packages of one date come from a snapshot that DEBIAN_MIRROR names. Takes about a minute if it
 * must be made.
 */
export async function makeRootFileSystem(
  packages: readonly string[] = nodePackages,
): Promise<string> {
  const named = process.env["DEBIAN_MIRROR"] ?? "";
  const key = keyOf(suite, ...packages, ...unwanted, ...unwantedTimers, process.arch, named);
  return await once(join(cacheRoot, `debian-${key}`), async (draft) => {
    const mirror = await debianMirror();
    const source = mirror ?? "debootstrap's own mirror";
    progress(`making the nodes' root file system with debootstrap, from ${source}`);
    const flags = ["--variant=minbase", "--force-check-gpg", `--include=${packages.join(",")}`];
    // Because of these namespaces, debootstrap leaves no processes and no mounts when it is killed.
    const alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"];
    const from = mirror === undefined ? [] : [mirror];
    const debootstrap = [...alone, "debootstrap", ...flags, suite, draft, ...from];
    await run(debootstrap).catch((error: unknown) => {
      const advice = "set DEBIAN_MIRROR to the URL of a Debian mirror that this machine can reach";
      throw new Error(`no Debian for the nodes from ${source}: ${advice}`, { cause: error });
    });
    const version = readFileSync(join(draft, "etc/debian_version"), "utf8").trim();
    progress(`the nodes run Debian ${version}`);
    for (const path of [
      "var/cache/apt",
      "var/lib/apt/lists",
      "var/log",
      "usr/share/doc",
      "usr/share/locale",
    ]) {
      rmSync(join(draft, path), { recursive: true });
      mkdirSync(join(draft, path));
    }
    for (const unit of [...unwanted, ...unwantedTimers]) {
      const link = join(draft, "etc/systemd/system", unit);
      rmSync(link, { force: true });
      symlinkSync("/dev/null", link);
    }
    writeFileSync(join(draft, "etc/fstab"), "");
  });
}

/** Mounts that give a node its /usr. */
export function sharedMounts(debian: string): string[] {
  return [`--bind-ro=${join(debian, "usr")}:/usr`];
}

/** Fills `root` with a node's own part of the Debian. */
export function layNode(debian: string, root: string): void {
  for (const name of ["usr/lib", "proc", "sys", "dev", "run", "tmp", "root", "mnt", "opt"]) {
    mkdirSync(join(root, name), { recursive: true });
  }
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name));
  // systemd-nspawn looks for this file before it mounts /usr.
  cpSync(join(debian, "usr/lib/os-release"), join(root, "usr/lib/os-release"));
  const copy = { recursive: true, verbatimSymlinks: true, preserveTimestamps: true };
  cpSync(join(debian, "etc"), join(root, "etc"), copy);
  cpSync(join(debian, "var"), join(root, "var"), {
    ...copy,
    filter: (path) => !path.includes("/var/lib/dpkg"),
  });
}

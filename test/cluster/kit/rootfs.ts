/**
 * The Debian that every node boots, made once by debootstrap.
 *
 * A node gets /etc and /var of its own (a few MB, copied quickly). The nodes share /usr read-only,
 * because Kubernetes and our programs write nothing to /usr.
 */
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
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
const packages = [
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

/** Returns the directory of the Debian. Takes about a minute if it must be made first. */
export async function makeRootFileSystem(): Promise<string> {
  const key = keyOf(suite, ...packages, ...unwanted, ...unwantedTimers, process.arch);
  return await once(join(cacheRoot, `debian-${key}`), async (draft) => {
    const mirror = await debianMirror();
    progress("making the nodes' root file system with debootstrap");
    const flags = ["--variant=minbase", `--include=${packages.join(",")}`];
    // Because of these namespaces, debootstrap leaves no processes and no mounts when it is killed.
    const alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child"];
    await run([...alone, "debootstrap", ...flags, suite, draft, mirror]);
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

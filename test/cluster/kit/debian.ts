/** Installs the packages that the tests need on this machine, which runs Debian or Ubuntu. */
import { existsSync } from "node:fs";
import { run, progress, runSync } from "../run.ts";

/** File → its package. */
const needed: Readonly<Record<string, string>> = {
  "/usr/sbin/debootstrap": "debootstrap", // makes a node's root file system
  // With these keys debootstrap checks Debian's signature. Ubuntu does not install them by itself.
  "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
  "/usr/bin/systemd-nspawn": "systemd-container", // boots a node
  "/usr/bin/buildah": "buildah", // builds our image
  "/usr/bin/strace": "strace", // injects faults
  "/usr/bin/openssl": "openssl", // makes certificates
  "/usr/bin/nsenter": "util-linux",
  "/usr/bin/zsh": "zsh", // zsh and fish complete the plugin's commands
  "/usr/bin/fish": "fish",
  "/usr/bin/jq": "jq", // reads the audit log, as in docs/extend/tenants.md
  "/usr/bin/perl": "perl-base", // hashes the registry's passwords (bcrypt)
};

/**
 * Installs missing packages, or fails with the command that installs them. A package counts as
 * installed if its file exists.
 */
export async function installPackages(
  packages: Readonly<Record<string, string>> = needed,
): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new Error("the real cluster needs root: run the same command as root");
  const missing = Object.entries(packages).flatMap(([file, name]) =>
    existsSync(file) ? [] : [name],
  );
  if (runSync(["ip", "-V"]) === undefined) missing.push("iproute2");
  if (runSync(["go", "version"]) === undefined) {
    throw new Error(
      "Go is missing: install the version that test/go.mod names (https://go.dev/doc/install)",
    );
  }
  await install(missing);
}

/** Installs these packages, or fails with the command that installs them. */
export async function install(missing: readonly string[]): Promise<void> {
  if (missing.length === 0) return;
  const command = `apt-get install --yes --no-install-recommends ${missing.join(" ")}`;
  if (!existsSync("/usr/bin/apt-get")) {
    throw new Error(
      `missing on this machine: ${missing.join(", ")}; on Debian or Ubuntu: ${command}`,
    );
  }
  progress(`installing ${missing.join(", ")}`);
  const env = { ...(process.env as Record<string, string>), DEBIAN_FRONTEND: "noninteractive" };
  await run(command.split(" "), { env }).catch(async () => {
    // apt-get fails if the machine's package lists are absent or old. Fetches new lists only in
    // this case.
    await run(["apt-get", "update", "-qq"], { env });
    await run(command.split(" "), { env }).catch((error: unknown) => {
      throw new Error(`could not install packages; run as root: apt-get update && ${command}`, {
        cause: error,
      });
    });
  });
}

/**
 * The mirror of the nodes' Debian: the one that DEBIAN_MIRROR names, else the one in apt's
 * configuration. Undefined if apt knows none, as on Ubuntu; debootstrap then uses its own mirror.
 */
export async function debianMirror(): Promise<string | undefined> {
  const listed = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(LABEL) $(COMPONENT)"];
  const configured = async () => mirrorIn(await run(listed));
  return (
    process.env["DEBIAN_MIRROR"] ||
    (await configured()) ||
    // Before the first update, apt has no index files to list.
    (await run(["apt-get", "update", "-qq"]).then(configured))
  );
}

/** The first mirror of Debian itself in apt's list of index files. */
export const mirrorIn = (targets: string): string | undefined =>
  /^(https?:\S+) Debian main$/m.exec(targets)?.[1];

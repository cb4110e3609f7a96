/** A node on which containerd reads hosts.toml files. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The mount by which an agent recognizes that containerd runs its container. */
export const sandboxMount =
  "97 95 254:0 /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/1a2b/resolv.conf /etc/resolv.conf rw - ext4 /dev/vda rw\n";

/**
 * Writes containerd's configuration, and a file with the agent's mounts. Returns the flags of
 * agents on this node.
 */
export function installContainerd(root: string): readonly string[] {
  const directory = join(root, "containerd");
  const hosts = join(directory, "certs.d");
  const mountinfo = join(root, "containerd-mountinfo");
  mkdirSync(hosts, { recursive: true });
  const plugin = "[plugins.'io.containerd.cri.v1.images'.registry]";
  const config = `version = 3\n${plugin}\nconfig_path = "/etc/containerd/certs.d"\n`;
  writeFileSync(join(directory, "config.toml"), config);
  writeFileSync(mountinfo, sandboxMount);
  return [
    "--containerd-path=/etc/containerd",
    `--containerd-directory=${directory}`,
    `--hosts-directory=${hosts}`,
    `--mountinfo=${mountinfo}`,
  ];
}

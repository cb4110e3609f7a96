/** Nodes as an image or Cluster API makes them for registration Preinstalled. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { providerFiles as files, type Scope } from "#contract/names.ts";
import { script } from "#pullsecret/provider/answer.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import type { Node } from "../cluster/node.ts";

const directory = "/var/lib/kubelet";
const flags = [
  `--image-credential-provider-config=${directory}/${files.config}`,
  `--image-credential-provider-bin-dir=${directory}/${files.bin}`,
].join(" ");

/** Before a node's first boot: the provider, its configuration and the kubelet's two flags. */
export function prepare(node: Node): void {
  node.writeFile(files.script, script, 0o755);
  configure(node, "All");
  const unit = join(node.rootfs, "etc/systemd/system/kubelet.service");
  const text = readFileSync(unit, "utf8");
  writeFileSync(
    unit,
    text.replace(/^ExecStart=.*$/m, (line) => `${line} ${flags}`),
  );
}

/** The configuration alone; a kubelet reads it when it starts. */
export function configure(node: Node, scope: Scope): void {
  node.writeFile(files.config, providerConfig([], scope), 0o644);
}

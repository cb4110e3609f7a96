/** Nodes as a machine image or Cluster API prepares them for mode CredentialProvider. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider.fixture.ts";
import type { Node } from "../cluster/node.ts";
import { installProvider, kubeadmFile, kubeadmFlags } from "../faults/provider.ts";
import { pageOf } from "../page.ts";

/**
 * Writes the provider, its configuration and the kubelet's two flags before a node's first boot.
 */
export function prepare(node: Node): void {
  installProvider(join(node.rootfs, "var/lib/kubelet"));
  node.writeFile(kubeadmFile, kubeadmFlags());
}

/** `prepare` with the snippet of docs/use/delivery-node.md for nodes that kubeadm set up. */
export function prepareByPage(node: Node): void {
  const page = pageOf("use/delivery-node.md");
  const [files] = page.blocksBelow("### A machine image");
  const [flags] = page.blocksBelow("### kubeadm");
  node.writeFile(kubeadmFile, 'KUBELET_KUBEADM_ARGS="--v=2"\n');
  const env = { ...process.env, ROOT: node.rootfs };
  for (const block of [files, flags]) execFileSync("sh", ["-c", block?.body ?? "false"], { env });
}

/** Writes only the configuration, which a kubelet reads when it starts. */
export function configure(node: Node, scope: ProviderScope): void {
  node.writeFile(providerFiles.config, providerConfig([], scope));
}

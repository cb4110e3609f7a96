/** Nodes as an image or Cluster API makes them for mode CredentialProvider. */
import { join } from "node:path";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import type { Node } from "../cluster/node.ts";
import { installProvider, kubeadmFlags } from "../faults/provider.ts";

/** Before a node's first boot: the provider, its configuration and the kubelet's two flags. */
export function prepare(node: Node): void {
  installProvider(join(node.rootfs, "var/lib/kubelet"));
  node.writeFile("kubeadm-flags.env", kubeadmFlags());
}

/** The configuration alone; a kubelet reads it when it starts. */
export function configure(node: Node, scope: ProviderScope): void {
  node.writeFile(providerFiles.config, providerConfig([], scope));
}

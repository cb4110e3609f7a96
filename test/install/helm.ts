/** helm as an administrator runs it, with or without a cluster. */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { directEnvironment, run } from "../cluster/run.ts";
import { manifests } from "#tools/install/yaml.ts";
import { helm as program } from "./go-tools.ts";

export const chart = join(manifests, "chart");

/** Returns its stdout; fails with its stderr. Its files are in `home`. */
export async function helm(home: string, ...args: readonly string[]): Promise<string> {
  const places = ["CACHE", "CONFIG", "DATA"].map((one) => [`HELM_${one}_HOME`, join(home, "helm")]);
  const env = directEnvironment(Object.fromEntries(places) as Record<string, string>);
  return await run([await program(), ...args], { env });
}

/** With the release in kube-system, unless another namespace is among `args`. */
export async function helmOn(cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const where = ["--kubeconfig", cluster.kubeconfig, "--namespace", "kube-system"];
  return await helm(cluster.directory, ...where, ...args);
}

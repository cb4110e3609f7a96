/** helm as an administrator runs it, with or without a cluster. */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { directEnvironment, run } from "../cluster/run.ts";
import { manifests } from "#tools/install/yaml.ts";
import { helm as program } from "./go-tools.ts";

export const chart = join(manifests, "chart");

/** Runs helm with its files in `home`. Returns its stdout; if helm fails, throws its stderr. */
export async function helm(home: string, ...args: readonly string[]): Promise<string> {
  const places = ["CACHE", "CONFIG", "DATA"].map((kind) => [
    `HELM_${kind}_HOME`,
    join(home, "helm"),
  ]);
  const env = directEnvironment(Object.fromEntries(places) as Record<string, string>);
  return await run([await program(), ...args], { env });
}

/** Runs helm on a cluster. The release is in kube-system, unless `args` names another namespace. */
export async function helmOn(cluster: Cluster, ...args: readonly string[]): Promise<string> {
  const where = ["--kubeconfig", cluster.kubeconfig, "--namespace", "kube-system"];
  return await helm(cluster.directory, ...where, ...args);
}

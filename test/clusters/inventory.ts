/** SIG Multicluster's cluster inventory: its definition, and its own reader of tokens. */
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { progress, run } from "../cluster/run.ts";

const here = join(import.meta.dirname, "go");
const modulePath = "sigs.k8s.io/cluster-inventory-api";

/** Defines ClusterProfile, as an administrator would. */
export async function define(cluster: Cluster): Promise<void> {
  const told = await run(["go", "mod", "download", "-json", modulePath], { cwd: here });
  const { Dir } = JSON.parse(told) as { Dir: string };
  const crd = "config/crd/bases/multicluster.x-k8s.io_clusterprofiles.yaml";
  await cluster.kubectl("apply", "-f", join(Dir, crd));
  await cluster.untilServed("clusterprofiles.multicluster.x-k8s.io");
}

/** Builds the reference secret reader, a minute for the first, once per version of the pins. */
export async function buildReader(): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
  const place = join(cacheRoot, "cluster-inventory", keyOf(...pins), "secretreader");
  return await once(place, async (draft) => {
    progress("building the cluster inventory's secret reader (a minute for the first)");
    mkdirSync(dirname(draft), { recursive: true });
    const plugin = `${modulePath}/plugins/secretreader/cmd/plugin`;
    await run(["go", "build", "-buildvcs=false", "-o", draft, plugin], { cwd: here });
  });
}

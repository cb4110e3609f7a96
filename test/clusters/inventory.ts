/** SIG Multicluster's cluster inventory: its CRD, and its own program that reads credentials. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { progress } from "../cluster/run.ts";

const here = join(import.meta.dirname, "go");
const root = join(import.meta.dirname, "../..");
const modulePath = "sigs.k8s.io/cluster-inventory-api";

/** Installs the ClusterProfile CRD that we ship, as an administrator would. */
export async function installCrd(cluster: Cluster): Promise<void> {
  await cluster.kubectl("apply", "-k", join(root, "manifests/crds/clusterprofiles"));
  await cluster.untilServed("clusterprofiles.multicluster.x-k8s.io");
}

/**
 * Builds the program that reads a token, once for each pinned version of the inventory. The first
 * build takes a minute.
 */
export async function buildReader(): Promise<string> {
  const name = "secretreader";
  const pins = ["go.mod", "go.sum"].map((file) => readFileSync(join(here, file), "utf8"));
  const place = join(cacheRoot, "cluster-inventory", keyOf(...pins, "quick"), name);
  return await once(place, async (draft) => {
    progress(`building the cluster inventory's ${name} (a minute for the first)`);
    await goBuild(here, draft, `${modulePath}/plugins/${name}/cmd/plugin`);
  });
}

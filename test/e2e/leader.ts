/** Finds which of the two controllers writes. */
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";

const lease = ["lease", "global-pull-secret-controller", "-n", names.namespace] as const;

/** Name of the pod that holds the Lease; undefined while no pod holds it. */
async function holder(cluster: Cluster): Promise<string | undefined> {
  const object = await cluster.get<{ spec?: { holderIdentity?: string } }>(...lease);
  return object?.spec?.holderIdentity?.split("_")[0] || undefined;
}

type Pod = {
  metadata: { name: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { containerStatuses?: { state: { running?: object } }[] };
};

/** Name and node of the pod that holds the Lease and runs. */
export async function leader(cluster: Cluster): Promise<Readonly<{ name: string; host: string }>> {
  return await until("a controller holds the Lease and runs", async () => {
    const name = await holder(cluster);
    const pod = name && (await cluster.get<Pod>("pod", name, "-n", names.namespace));
    if (!pod || pod.metadata.deletionTimestamp !== undefined) return undefined;
    const runs = pod.status.containerStatuses?.[0]?.state.running !== undefined;
    return runs && { name: pod.metadata.name, host: pod.spec.nodeName ?? "" };
  });
}

/**
 * Makes the Lease free at once, so that tests of other subjects do not wait after a kill until the
 * Lease expires.
 */
export async function freeLease(cluster: Cluster): Promise<void> {
  await cluster.kubectl("delete", ...lease, "--ignore-not-found");
}

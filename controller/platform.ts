/**
 * Detects whether another operator owns the nodes' pull secrets. On OpenShift, the machine config
 * operator writes the kubelet's file and replaces what others write. Two owners of one file would
 * undo each other's writes for ever. A guest of HyperShift lacks that operator. Where HyperShift
 * itself brings `additional-pull-secret` to the guest's nodes, its DaemonSet has our name, and we
 * refuse it as a foreign object.
 */
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

const foreignGroup = "machineconfiguration.openshift.io";

/**
 * Seconds between two discovery requests (20 kB each): while another operator owns the pull
 * secrets, and while none does.
 */
const pauseSeconds = { found: 30, absent: 300 };

/**
 * Returns a function that finds an API group of the other operator's platform. The function's
 * discovery request needs authentication, but no other right. If the API server denies this
 * request, the result is undefined. The function rejects until the API server has answered once.
 */
export function platformClock(
  cluster: Cluster,
  seconds: () => number,
): () => Promise<string | undefined> {
  let cache: { group: string | undefined; until: number } | undefined;
  return async () => {
    const time = seconds();
    if (cache !== undefined && time < cache.until) return cache.group;
    try {
      const group = await read(cluster);
      cache = {
        group,
        until: time + (group === undefined ? pauseSeconds.absent : pauseSeconds.found),
      };
    } catch (error) {
      if (cache === undefined) throw error;
    }
    return cache.group;
  };
}

/** When to check again whether another operator still owns the pull secrets. */
export const platformPause = { seconds: pauseSeconds.found };

async function read(cluster: Cluster): Promise<string | undefined> {
  try {
    const list = await cluster.get<{ groups: readonly { name: string }[] }>("/apis");
    return list?.groups.find(({ name }) => name === foreignGroup)?.name;
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403))
      return undefined;
    throw error;
  }
}

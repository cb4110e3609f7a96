/**
 * Detects whether another operator owns the nodes' pull secrets. On OpenShift, the machine config
 * operator writes the kubelet's file and replaces what others write. Two owners of one file would
 * undo each other for ever. HyperShift guests lack that operator, but HyperShift serves the same
 * Secret and DaemonSet in them, under the same names. These guests have OpenShift's configuration
 * API.
 */
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

const foreignGroups = ["machineconfiguration.openshift.io", "config.openshift.io"];

/**
 * Seconds between two requests of 20 kB: 30 while the other operator is present, otherwise 5
 * minutes.
 */
const pauseSeconds = { found: 30, absent: 300 };

/**
 * An API group of the other operator's platform, or undefined. Discovery only requires
 * authentication. If discovery is denied as well, the result is undefined. Rejects until the API
 * server has answered once.
 */
export function platformClock(
  cluster: Cluster,
  seconds: () => number,
): () => Promise<string | undefined> {
  let known: { group: string | undefined; until: number } | undefined;
  return async () => {
    const time = seconds();
    if (known !== undefined && time < known.until) return known.group;
    try {
      const group = await read(cluster);
      known = {
        group,
        until: time + (group === undefined ? pauseSeconds.absent : pauseSeconds.found),
      };
    } catch (error) {
      if (known === undefined) throw error;
    }
    return known.group;
  };
}

/** When to check again a cluster that another operator owns. */
export const platformPause = { seconds: pauseSeconds.found };

async function read(cluster: Cluster): Promise<string | undefined> {
  try {
    const list = await cluster.get<{ groups: readonly { name: string }[] }>("/apis");
    return foreignGroups.find((group) => list?.groups.some(({ name }) => name === group));
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403))
      return undefined;
    throw error;
  }
}

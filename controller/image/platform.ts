/**
 * Whether another operator owns the nodes' pull secrets. On OpenShift the machine config operator
 * writes the kubelet's file and replaces what others write there; two owners of one file would undo
 * each other for ever.
 */
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

const foreignGroup = "machineconfiguration.openshift.io";

/**
 * Seconds between two requests, of 20 kB each: 30 while the other operator is there, else 5
 * minutes.
 */
const pauseSeconds = { found: 30, absent: 300 };

/**
 * The API group of the other operator; undefined where there is none. Discovery needs no right but
 * to be authenticated; where even that is withheld, the answer is that there is none. Rejects until
 * the API server has answered once.
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

/** When a run looks again at a cluster that another operator owns. */
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

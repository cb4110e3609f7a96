/**
 * A cluster client that writes only while we hold the Lease. In addition, every write names the
 * version of the object that it changes.
 */
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

/**
 * Calls `holds` before each write, so a process that lost the Lease while it was suspended writes
 * nothing when it resumes.
 */
export function fenced(cluster: Cluster, holds: () => boolean): Cluster {
  function may(method: string, path: string): void {
    if (!holds()) throw new ApiError({ status: 409, reason: "LeaseLost", method, path });
  }
  return {
    ...cluster,
    async apply(path, body, options) {
      may("PATCH", path);
      return cluster.apply(path, body, options);
    },
    async create(path, body) {
      may("POST", path);
      return cluster.create(path, body);
    },
    async patch(path, body) {
      may("PATCH", path);
      return cluster.patch(path, body);
    },
    async remove(path, uid, resourceVersion, propagation) {
      may("DELETE", path);
      return cluster.remove(path, uid, resourceVersion, propagation);
    },
  };
}

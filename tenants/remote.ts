/**
 * The management cluster, even if its kubeconfig cannot be used when the program starts.
 * SyncSecrets in users' namespaces have our finalizer, so without a running program their
 * namespaces could not be deleted.
 */
import type { Logger } from "pino";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";

type Options = Readonly<{
  /** Opens the kubeconfig. Throws if it cannot be used. */
  open: () => Cluster;
  log: Logger;
  /** Called when the kubeconfig can be used later: the process must start again. */
  usable: () => void;
}>;

/** Milliseconds between two reads of a kubeconfig that cannot be used. */
const pauseMilliseconds = 30_000;

/** The cluster of the kubeconfig, or one that never answers until the process starts again. */
export function openOrWait({ open, log, usable }: Options): Cluster {
  try {
    return open();
  } catch (error) {
    log.error({ error: (error as Error).message }, "no usable kubeconfig; it is read again");
    const timer = setInterval(() => {
      try {
        open();
      } catch {
        return; // It is still not usable.
      }
      clearInterval(timer);
      usable();
    }, pauseMilliseconds);
    timer.unref();
    return unusable;
  }
}

const refuse = (method: string) => async (path: string) =>
  await Promise.reject(new ApiError({ status: 0, reason: "NoKubeconfig", method, path }));

/** Rejects every request as if the API server did not answer. */
const unusable: Cluster = {
  identity: "none",
  get: refuse("GET"),
  pages: refuse("GET"),
  apply: refuse("PATCH"),
  create: refuse("POST"),
  patch: refuse("PATCH"),
  remove: refuse("DELETE"),
  stream: refuse("WATCH"),
};

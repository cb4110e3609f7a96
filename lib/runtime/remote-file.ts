/**
 * A cluster other than the one that our program runs in. Another program writes the kubeconfig of
 * this cluster, and renews the kubeconfig while we run.
 */
import { readFileSync } from "node:fs";
import type { Logger } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import type { Access } from "#kube/kubeconfig/access.ts";
import { readKubeconfig } from "#kube/remote.ts";
import { reopened } from "#kube/client/renewal.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";

type Options = Readonly<{
  file: string;
  /** The flag that names the file, for messages about the file. */
  flag: string;
  log: Logger;
  connected: (access: Access) => Cluster;
  /**
   * Called when the file names another cluster. All that this process has learned belongs to the
   * former cluster. The process must exit, so that the next process starts without this knowledge.
   */
  moved: () => void;
}>;

/**
 * The cluster of that kubeconfig; its credential is renewed when the file changes. If the file can
 * no longer be used, the last valid kubeconfig stays in use. Throws if the file cannot be used at
 * the start.
 */
export function openRemote({ file, flag, log, connected, moved }: Options): Cluster {
  const first = accessIn(file, flag);
  let lastError = "";

  function open(): Cluster {
    const access = accessIn(file, flag);
    if (access.place === first.place) return connected(access);
    moved();
    throw new Error(`${flag} now names another cluster: this process ends`);
  }

  return reopened(file, () => {
    try {
      const cluster = open();
      lastError = "";
      return cluster;
    } catch (error) {
      const { message } = error as Error;
      if (message !== lastError)
        log.error({ error: message }, "the former kubeconfig stays in use");
      lastError = message;
      throw error;
    }
  });
}

function accessIn(file: string, flag: string): Access {
  const read = readKubeconfig(readFileSync(file), flag);
  if (read.ok) return read.access;
  throw new Error(
    read.problems.map((problem) => `${problem.code} ${formatProblem(problem)}`).join("\n"),
  );
}

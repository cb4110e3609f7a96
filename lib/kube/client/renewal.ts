/** A cluster whose credential is renewed in its file while we run. */
import { statSync } from "node:fs";
import type { Cluster } from "./cluster.ts";

/**
 * A cluster whose kubeconfig is opened again when its file changes, so that a renewed credential
 * needs no restart of ours.
 */
export function reopened(file: string, open: () => Cluster): Cluster {
  let seen = versionOf(file);
  let cluster = open();

  function current(): Cluster {
    const version = versionOf(file);
    if (version === seen) return cluster;
    try {
      cluster = open();
      seen = version;
    } catch {
      // The file is half written, or missing for a moment. The next request reads it again.
    }
    return cluster;
  }

  return {
    identity: cluster.identity,
    get: (path, options) => current().get(path, options),
    pages: (path, query, each, how) => current().pages(path, query, each, how),
    apply: (path, body, options) => current().apply(path, body, options),
    create: (path, body) => current().create(path, body),
    patch: (path, body) => current().patch(path, body),
    remove: (...of) => current().remove(...of),
    stream: (...of) => current().stream(...of),
  };
}

function versionOf(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? "" : `${stat.ino}/${stat.mtimeMs}/${stat.size}`;
}

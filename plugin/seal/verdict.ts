/** Checks whether a folder's sealed files are the files that its clusters need. Pure. */
import type { Certificate } from "./certificate.ts";
import type { SealedIndex } from "./folder.ts";

/**
 * - `old`: the cluster has renewed its certificate since the file was sealed. The cluster can still
 *   decrypt the file, because the controller of Sealed Secrets keeps former keys.
 * - `behind`: the last run did not write the file, so its content might be older.
 * - `missing`: the cluster has no file.
 * - `left over`: the file is for a cluster that the command line did not name.
 * - `unknown`: we could not get the cluster's certificate.
 */
type State = "current" | "old" | "behind" | "missing" | "left over" | "unknown";

export type Verdict = Readonly<{ cluster: string; state: State; sealedUntil: string }>;

/**
 * One verdict for each cluster that the command line names or that has a file, sorted by name.
 * `files`: the clusters that have a file.
 */
export function sealVerdicts(
  index: SealedIndex,
  files: ReadonlySet<string>,
  present: Readonly<Record<string, Pick<Certificate, "fingerprint">>>,
  unknown: ReadonlySet<string> = new Set(),
): readonly Verdict[] {
  const clusters = new Set([...Object.keys(present), ...unknown, ...files]);
  return [...clusters].toSorted().map((cluster) => {
    const sealed = Object.hasOwn(index.clusters, cluster) ? index.clusters[cluster] : undefined;
    const certificate = Object.hasOwn(present, cluster) ? present[cluster] : undefined;
    const state = ((): State => {
      if (certificate === undefined && !unknown.has(cluster)) return "left over";
      if (sealed === undefined || !files.has(cluster)) return "missing";
      if (sealed.sealing !== index.sealing) return "behind";
      if (certificate === undefined) return "unknown";
      return sealed.fingerprint === certificate.fingerprint ? "current" : "old";
    })();
    return { cluster, state, sealedUntil: sealed?.until ?? "" };
  });
}

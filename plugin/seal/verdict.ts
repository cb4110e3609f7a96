/** Checks whether a folder's sealed files are the files that its clusters need. Pure. */
import type { Certificate } from "./certificate.ts";
import type { SealedIndex } from "./sealed-index.ts";

/**
 * current · old: sealed with a certificate that the cluster has renewed since; the controller keeps
 * former keys, so it can still open the file · behind: the last run did not write the file, so its
 * content may be older · missing: a cluster without a file · left over: a file of a cluster that
 * was not named · unknown: the file of a cluster whose certificate we could not get.
 */
type State = "current" | "old" | "behind" | "missing" | "left over" | "unknown";

export type Verdict = Readonly<{ cluster: string; state: State; sealedUntil: string }>;

/**
 * One verdict for each cluster that was named or has a file, sorted by name. `files`: the names of
 * the existing files.
 */
export function judge(
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

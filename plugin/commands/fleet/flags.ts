/** Flags of the commands on many clusters. */
import { text, Wrong } from "#contract/values.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { clusterName } from "#plugin/clusters/profile.ts";
import { path } from "#plugin/document/operands.ts";
import type { Reach } from "#plugin/terminal/io.ts";

/**
 * For commands on two clusters: --context is for the joined cluster. The host is the cluster of the
 * kubeconfig's current context.
 */
export const pairFlags = {
  ...clusterFlags,
  context: { read: text, what: "the kubeconfig's context of the joined cluster" },
} as const;

/** How to reach the host, by the flags of a command on two clusters. */
export const hostOf = (how: Reach): Reach => ({ ...how, context: undefined });

/** One or more names of clusters, separated by commas. */
function clusterNames(value: string): readonly string[] | Wrong {
  const names = value.split(",");
  return names.every((name) => clusterName.test(name))
    ? names
    : new Wrong("is not a list of clusters (example: east,west)");
}

/** The arguments of the commands on applied manifests: the files and the clusters. */
export const manifestFlags = {
  file: { read: path, required: true, short: "f", what: "a manifest, or a folder of manifests" },
  clusters: { read: clusterNames, what: "the clusters, comma-separated, instead of all" },
} as const;

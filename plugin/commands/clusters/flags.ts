/** Flags of the commands on many clusters. */
import { text, Wrong } from "#contract/values.ts";
import { clusterFlags } from "#plugin/cluster/flags.ts";
import { clusterName } from "#plugin/clusters/names.ts";
import { path } from "#plugin/document/path.ts";
import type { Reach } from "#plugin/terminal/io.ts";

/** Two clusters: that which is joined by --context, the host by a context of its own. */
export const pairFlags = {
  ...clusterFlags,
  context: { read: text, what: "the kubeconfig's context of the cluster that is meant" },
  "host-context": {
    read: text,
    what: "the kubeconfig's context of the host, instead of its current one",
  },
} as const;

/** How the host is reached, of flags that speak of two clusters. */
export const hostOf = (how: Reach & Readonly<{ "host-context": string | undefined }>): Reach => ({
  ...how,
  context: how["host-context"],
  cluster: undefined,
  user: undefined,
});

/** The same cluster as the token's account, which may impersonate nobody. */
export const withToken = (how: Reach, token: string): Reach => ({
  ...how,
  as: undefined,
  "as-group": undefined,
  token,
});

/** One name of a cluster or several, separated by commas. */
function clusterNames(value: string): readonly string[] | Wrong {
  const names = value.split(",");
  return names.every((name) => clusterName.test(name))
    ? names
    : new Wrong("is not a list of clusters (example: east,west)");
}

/** What the commands on applied manifests take: which files, and in which clusters. */
export const manifestFlags = {
  file: { read: path, required: true, short: "f", what: "a manifest, or a folder of manifests" },
  clusters: { read: clusterNames, what: "the clusters, comma-separated, instead of all" },
} as const;

/** The flags of the fleet's controller. */
import { clustersNamespace } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import type { Table } from "#contract/table.ts";
import { Wrong } from "#contract/values.ts";
import { commandLine, common, isNamespace, namespaceLike } from "#runtime/flags.ts";

/** Reads names of namespaces, separated by commas. */
function namespaces(value: string): readonly string[] | Wrong {
  const names = value.split(",").map((name) => name.trim());
  if (names.every(isNamespace)) return names;
  return new Wrong("is not a list of namespaces (example: clusters,other-clusters)");
}

const flags = {
  "fleet-namespace": {
    read: namespaceLike("kube-system"),
    standard: namespace,
    what: "namespace whose FleetSecrets are served",
  },
  "cluster-namespaces": {
    read: namespaces,
    standard: clustersNamespace,
    what: "namespaces whose ClusterProfiles are followed, comma-separated",
  },
  ...common,
} as const satisfies Table;

export const fleetCommandLine = commandLine(
  "Global Pull Secret's fleet controller: one Secret for many clusters.",
  flags,
);

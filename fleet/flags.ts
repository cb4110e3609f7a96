/** The flags of the fleet's controller. */
import { clustersNamespace } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { usage as usageOf, type Table, type TableValues } from "#contract/table.ts";
import { Wrong } from "#contract/values.ts";
import { common } from "#runtime/flags.ts";
import { quote } from "#pullsecret/problems/keypath.ts";

const isNamespace = (name: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name);

const namespaceName = (value: string): string | Wrong =>
  isNamespace(value) ? value : new Wrong("is not a valid namespace name (example: kube-system)");

/** Reads names of namespaces, separated by commas. */
function namespaces(value: string): readonly string[] | Wrong {
  const names = value.split(",").map((one) => one.trim());
  if (names.every(isNamespace)) return names;
  return new Wrong("is not a list of namespaces (example: clusters,other-clusters)");
}

const flags = {
  "fleet-namespace": {
    read: namespaceName,
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

export type FleetConfig = TableValues<typeof flags>;

/** Reads the command line after the program's name. Reports all errors at once. */
export const parseFleetConfig = (argv: readonly string[]): ParsedFlags<FleetConfig> =>
  readFlags(flags, { argv, quote });

/** The text of `--help`. */
export const fleetUsage = (): string =>
  `Global Pull Secret's fleet controller: one Secret for many clusters.\n${usageOf(flags)}`;

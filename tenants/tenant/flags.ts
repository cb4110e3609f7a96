/** The flags of the tenant's side. */
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { usage as usageOf, type Table, type TableValues } from "#contract/table.ts";
import { duration, file, Wrong } from "#contract/values.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { common } from "#program/flags.ts";

function namespace(value: string): string | Wrong {
  const fits = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value);
  return fits ? value : new Wrong("is no name of a namespace; give one such as tenant-a");
}

const flags = {
  ...common,
  "management-kubeconfig": {
    read: file,
    required: true,
    what: "kubeconfig of the tenant's account in the management cluster",
  },
  "management-namespace": {
    read: namespace,
    required: true,
    what: "the tenant's namespace there",
  },
  "removal-deadline": {
    read: duration,
    standard: "1h",
    what: "how long a deleted SyncSecret waits for its copy to be gone",
  },
} as const satisfies Table;

export type TenantConfig = TableValues<typeof flags>;

/** Reads the arguments. Every error is reported, not only the first. */
export const parseTenantConfig = (argv: readonly string[]): ParsedFlags<TenantConfig> =>
  readFlags(flags, { argv, quote });

/** The text of `--help`. */
export const tenantUsage = (): string =>
  `Brings the SyncSecrets of this cluster to a namespace of the management cluster.\n${usageOf(flags)}`;

/** The flags of the management side. */
import { readFlags, type ParsedFlags } from "#contract/flags.ts";
import { usage as usageOf, type TableValues } from "#contract/table.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { common as flags } from "#program/flags.ts";

export type ManagementConfig = TableValues<typeof flags>;

/** Reads the arguments. Every error is reported, not only the first. */
export const parseManagementConfig = (argv: readonly string[]): ParsedFlags<ManagementConfig> =>
  readFlags(flags, { argv, quote });

/** The text of `--help`. */
export const managementUsage = (): string =>
  `Makes Secrets of the SyncSecrets in the namespaces of tenants.\n${usageOf(flags)}`;

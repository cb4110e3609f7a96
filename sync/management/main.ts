/** The management side: makes a Secret of each SyncSecret in the tenants' namespaces. */
import { runProgram } from "../process.ts";
import { managementUsage, parseManagementConfig } from "./flags.ts";
import { serveTenants } from "./tenants.ts";

runProgram({
  lease: "global-pull-secret-sync-management",
  usage: managementUsage,
  parse: parseManagementConfig,
  open: (_config, { home, log, metrics }) => serveTenants(home, log, metrics),
});

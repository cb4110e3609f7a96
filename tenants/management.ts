/** The management side: creates a Secret from each SyncSecret in the tenants' namespaces. */
import { commandLine, common } from "#runtime/flags.ts";
import { runProgram } from "#runtime/run.ts";
import { syncManager } from "./rules/copies.ts";
import { serveTenants } from "./tenants.ts";

runProgram({
  manager: syncManager,
  lease: "global-pull-secret-sync-management",
  ...commandLine("Creates a Secret from each SyncSecret in the tenants' namespaces.", common),
  open: (_config, { home, log, meters }) => serveTenants(home, log, meters),
});

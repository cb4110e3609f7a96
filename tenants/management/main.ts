/** The management side: makes a Secret of each SyncSecret in the tenants' namespaces. */
import { runProgram } from "#program/run.ts";
import { createAlarm, createMetrics } from "../metrics.ts";
import { syncManager } from "../rules/copies.ts";
import { managementUsage, parseManagementConfig } from "./flags.ts";
import { serveTenants } from "./tenants.ts";

runProgram({
  manager: syncManager,
  lease: "global-pull-secret-sync-management",
  usage: managementUsage,
  parse: parseManagementConfig,
  open: (_config, { home, log, registry }) =>
    serveTenants(home, log, createMetrics(registry), createAlarm(home, registry)),
});

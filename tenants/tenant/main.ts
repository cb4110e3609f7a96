/** The tenant's side: copies SyncSecrets to the tenant's namespace of the management cluster. */
import { connect } from "#kube/client/client.ts";
import { fenced } from "#kube/lease/fenced-client.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { openRemote } from "#program/remote-file.ts";
import { runProgram } from "#program/run.ts";
import { createAlarm, createExpiry, createMetrics } from "../metrics.ts";
import { syncManager } from "../rules/copies.ts";
import { serveSide } from "../service.ts";
import { parseTenantConfig, tenantUsage } from "./flags.ts";
import { createRenewal } from "./renewal.ts";
import { tenantSide } from "./side.ts";

/** An answer of the management cluster may take 10 s: one that hangs must not stop all others. */
const patience = { manager: syncManager, seconds: 10 };

runProgram({
  manager: syncManager,
  lease: "global-pull-secret-sync-tenant",
  usage: tenantUsage,
  parse: parseTenantConfig,
  open(config, { home, holds, log, registry }) {
    const management = openRemote({
      file: config["management-kubeconfig"],
      flag: "--management-kubeconfig",
      log,
      connected: (access) => connect(kubeConfigOf(access), () => {}, patience),
      // Versions that were seen in one cluster mean nothing in another: start anew.
      moved: () => process.exit(1),
    });
    const namespace = config["management-namespace"];
    const there = fenced(management, holds);
    let warning: string | undefined;
    const side = tenantSide({
      home,
      management: there,
      namespace,
      deadline: config["removal-deadline"],
      warning: () => warning,
      leftBehind: createAlarm(home, registry),
    });
    const served = serveSide(side, log, createMetrics(registry));
    const renewal = createRenewal({
      home,
      management: there,
      namespace,
      log,
      file: config["management-kubeconfig"],
      ends: createExpiry(registry),
      warn(message) {
        if (message === warning) return;
        warning = message;
        served.hint();
      },
    });
    return {
      silence: served.silence,
      until: async (signal) =>
        void (await Promise.all([served.until(signal), renewal.until(signal)])),
    };
  },
});

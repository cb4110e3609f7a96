/** The tenant's side: copies SyncSecrets to the tenant's namespace of the management cluster. */
import type { Table } from "#contract/table.ts";
import { duration, file } from "#contract/values.ts";
import { commandLine, common, namespaceLike } from "#runtime/flags.ts";
import { connect } from "#kube/client/client.ts";
import { fenced } from "#runtime/fenced-client.ts";
import { kubeConfigOf } from "#kube/remote.ts";
import { openRemote } from "#runtime/remote-file.ts";
import { runProgram } from "#runtime/run.ts";
import { createAlarm, createExcess, createExpiry, createMetrics } from "./metrics.ts";
import { syncManager } from "./rules/copies.ts";
import { openOrWait } from "./remote.ts";
import { serveSide } from "./service.ts";
import { createRenewal } from "./renewal.ts";
import { tenantSide } from "./side.ts";

const flags = {
  ...common,
  "management-kubeconfig": {
    read: file,
    required: true,
    what: "kubeconfig of the tenant's account in the management cluster",
  },
  "management-namespace": {
    read: namespaceLike("tenant-a"),
    required: true,
    what: "the tenant's namespace there",
  },
  "removal-deadline": {
    read: duration,
    standard: "1h",
    what: "how long a deleted SyncSecret waits until its copy is gone",
  },
} as const satisfies Table;

/**
 * Seconds to wait for an answer of the management cluster. Without this limit, a request that hangs
 * would stop all others.
 */
const timeouts = { manager: syncManager, seconds: 10 };

runProgram({
  manager: syncManager,
  lease: "global-pull-secret-sync-tenant",
  ...commandLine(
    "Brings the SyncSecrets of this cluster to a namespace of the management cluster.",
    flags,
  ),
  open(config, { home, holds, log, meters }) {
    // If the kubeconfig now names another cluster, or can be used for the first time, we exit,
    // because what we have stored is not valid there. The kubelet then restarts this program.
    const restart = () => process.exit(1);
    const open = () =>
      openRemote({
        file: config["management-kubeconfig"],
        flag: "--management-kubeconfig",
        log,
        connected: (access) => connect(kubeConfigOf(access), () => {}, timeouts),
        moved: restart,
      });
    const management = openOrWait({ open, log, usable: restart });
    const namespace = config["management-namespace"];
    const fencedManagement = fenced(management, holds);
    let warning: string | undefined;
    const side = tenantSide({
      home,
      management: fencedManagement,
      namespace,
      deadline: config["removal-deadline"],
      warning: () => warning,
      leftBehind: createAlarm(home, meters),
      exceeded: createExcess(home, meters)(namespace),
    });
    const served = serveSide({ side, namespace, log, metrics: createMetrics(meters) });
    const renewal = createRenewal({
      home,
      management: fencedManagement,
      namespace,
      log,
      file: config["management-kubeconfig"],
      ends: createExpiry(meters),
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

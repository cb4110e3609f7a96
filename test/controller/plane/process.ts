/** The controller as it is shipped: a process with exactly the rights of manifests/. */
import { join } from "node:path";
import {
  keepRunning,
  lostLease,
  type RunningProgram,
  startProgram,
} from "#test/cluster/program.ts";
import { agentImage, type Plane } from "./start.ts";

const root = join(import.meta.dirname, "../../..");

/** A kill does not release the Lease, so another controller waits until it expires. */
export type Controller = RunningProgram & AsyncDisposable;

/** Milliseconds that a controller may take to release the Lease. Then the test continues anyway. */
const releaseTimeout = 5000;

/**
 * With POD_NAME in the environment, the controller finds the agents' image by itself. It is
 * restarted, as by its Deployment, if this machine was too busy for it to renew its Lease.
 */
export function startController(kubeconfig: string, ...flags: readonly string[]): Controller {
  return disposable(keepRunning(() => processOf(kubeconfig, flags), lostLease));
}

/** `startController` without restarts, for tests of how the controller ends. */
export function startOnce(kubeconfig: string, ...flags: readonly string[]): Controller {
  return disposable(processOf(kubeconfig, flags));
}

function processOf(kubeconfig: string, flags: readonly string[]): RunningProgram {
  const image = process.env["POD_NAME"] === undefined ? ["--agent-image", agentImage] : [];
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const defaults = ["--kubeconfig", kubeconfig, ...image, ...listen];
  const argv = [process.execPath, join(root, "dist/controller.cjs"), ...defaults, ...flags];
  return startProgram(argv);
}

function disposable(program: RunningProgram): Controller {
  return Object.assign(program, {
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => program.signal("SIGKILL"), releaseTimeout);
      await program.stop();
      clearTimeout(timer);
    },
  });
}

const lease = ["lease", "global-pull-secret-controller", "-n", "kube-system"] as const;

/** Name of the controller that holds the Lease; empty if no controller does. */
export async function leader(plane: Plane): Promise<string> {
  return await plane.cluster.kubectl(
    "get",
    ...lease,
    "--ignore-not-found",
    "-o",
    "jsonpath={.spec.holderIdentity}",
  );
}

/** Makes the Lease look expired, as after a kill. */
export async function freeLease(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", ...lease, "--ignore-not-found");
}

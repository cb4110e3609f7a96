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

/**
 * A running controller. A killed controller does not release its Lease, so another controller waits
 * until the Lease expires.
 */
export type Controller = RunningProgram & AsyncDisposable;

/**
 * The longest time, in milliseconds, for which a test waits until a controller has released the
 * Lease.
 */
const releaseTimeout = 5000;

/**
 * Starts a controller. If POD_NAME is in the environment, the controller finds the agents' image by
 * itself. A controller that ends because it could not renew its Lease on a busy machine is started
 * again, as its Deployment would do.
 */
export function startController(kubeconfig: string, ...flags: readonly string[]): Controller {
  return disposable(keepRunning(() => processOf(kubeconfig, flags), lostLease));
}

/**
 * Like `startController`, but never starts the controller again. For tests of how the controller
 * ends.
 */
export function startOnce(kubeconfig: string, ...flags: readonly string[]): Controller {
  return disposable(processOf(kubeconfig, flags));
}

function processOf(kubeconfig: string, flags: readonly string[]): RunningProgram {
  const image = process.env["POD_NAME"] === undefined ? ["--agent-image", agentImage] : [];
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const defaults = ["--kubeconfig", kubeconfig, ...image, ...listen];
  const argv = [process.execPath, join(root, "dist/controller.cjs"), ...defaults, ...flags];
  // The documents of tests name public registries, which must get no request.
  const proxy = "http://127.0.0.1:1";
  return startProgram(argv, { http_proxy: proxy, https_proxy: proxy, no_proxy: "127.0.0.1" });
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

/** Deletes the Lease, so that after a kill a test need not wait until it expires. */
export async function freeLease(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", ...lease, "--ignore-not-found");
}

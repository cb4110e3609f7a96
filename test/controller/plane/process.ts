/** The controller as it is shipped: a process with exactly the rights of manifests/. */
import { join } from "node:path";
import { type RunningProgram, startProgram } from "#test/cluster/program.ts";
import type { Plane } from "./start.ts";

const root = join(import.meta.dirname, "../../..");

/** A kill gives no Lease back: another controller waits until it has run out. */
export type Controller = RunningProgram & AsyncDisposable;

/** A controller has this long to give back the Lease before a test goes on without it. */
const patience = 5000;

export const agentImage = "example.invalid/global-pull-secret:test";

/** With POD_NAME in the environment it is left to find the agents' image by itself. */
export function startController(kubeconfig: string, ...flags: readonly string[]): Controller {
  const image = process.env["POD_NAME"] === undefined ? ["--agent-image", agentImage] : [];
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const defaults = ["--kubeconfig", kubeconfig, ...image, ...listen];
  const argv = [process.execPath, join(root, "dist/controller.cjs"), ...defaults, ...flags];
  const program = startProgram(argv);
  return {
    ...program,
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => program.signal("SIGKILL"), patience);
      await program.stop();
      clearTimeout(timer);
    },
  };
}

const lease = ["lease", "global-pull-secret-controller", "-n", "kube-system"] as const;

/** Name of the controller that holds the Lease; empty when nobody does. */
export async function leader(plane: Plane): Promise<string> {
  return await plane.cluster.kubectl(
    "get",
    ...lease,
    "--ignore-not-found",
    "-o",
    "jsonpath={.spec.holderIdentity}",
  );
}

/** As if it had run out after a kill. */
export async function freeLease(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", ...lease, "--ignore-not-found");
}

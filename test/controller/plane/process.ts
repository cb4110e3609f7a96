/** The controller as it is shipped: a process with exactly the rights of manifests/. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { directEnvironment } from "#test/cluster/run.ts";
import type { Plane } from "./start.ts";

const root = join(import.meta.dirname, "../../..");

export type Controller = Readonly<{
  /** All that it wrote to stdout and stderr so far. */
  output: () => string;
  /** SIGTERM and wait; resolves with the exit code. */
  stop: () => Promise<number>;
  /**
   * SIGKILL and wait. The Lease is not given back: another controller waits until it has run out.
   */
  kill: () => Promise<void>;
  signal: (name: NodeJS.Signals) => void;
  /** The exit code, once it has ended. */
  exited: () => number | undefined;
}> &
  AsyncDisposable;

/** A controller has this long to give back the Lease before a test goes on without it. */
const patience = 5000;

export const agentImage = "example.invalid/global-pull-secret:test";

/** With POD_NAME in the environment it is left to find the agents' image by itself. */
export function startController(kubeconfig: string, ...flags: readonly string[]): Controller {
  const image = process.env["POD_NAME"] === undefined ? ["--agent-image", agentImage] : [];
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const defaults = ["--kubeconfig", kubeconfig, ...image, ...listen];
  const argv = [join(root, "dist/controller.cjs"), ...defaults, ...flags];
  const child = spawn(process.execPath, argv, {
    env: directEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const end = async (signal: NodeJS.Signals): Promise<number> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? 128;
    const ended = once(child, "exit");
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code ?? 128;
  };
  return {
    output: () => output,
    stop: () => end("SIGTERM"),
    kill: async () => void (await end("SIGKILL")),
    signal: (name) => void child.kill(name),
    exited: () => (child.signalCode === null ? (child.exitCode ?? undefined) : 128),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => child.kill("SIGKILL"), patience);
      await end("SIGTERM");
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

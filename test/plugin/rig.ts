/** The cluster that the plugin's tests share, and the plugin's bundle. */
import { fileURLToPath } from "node:url";
import { run } from "#plugin/cases.fixture.ts";
import type { Plane } from "../controller/plane.ts";

export const program = fileURLToPath(
  new URL("../../dist/kubectl-pull_secret.cjs", import.meta.url),
);

/** A password that must not be in any output. */
export const password = "pl4nted-s3cret";

type Ran = Awaited<ReturnType<typeof run>>;

/** Runs a command as the cluster's administrator. Spaces in `line` separate the words. */
export type Plugin = (line: string, input?: string) => Promise<Ran>;

export const pluginOn =
  (on: () => Plane): Plugin =>
  (line, input = "") => {
    const argv = [...line.split(" "), "--kubeconfig", on().cluster.kubeconfig];
    return run([process.execPath, program, ...argv], input);
  };

export type PluginRig = Readonly<{ on: () => Plane; plugin: Plugin }>;

/** The cluster that the plugin's tests share, and the plugin's bundle. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { file, run } from "#plugin/cases.fixture.ts";
import type { Plane } from "../controller/plane.ts";

export const program = fileURLToPath(
  new URL("../../dist/kubectl-pull_secret.cjs", import.meta.url),
);

/** A password that must not be in any output. */
export const password = "pl4nted-s3cret";

type Ran = Awaited<ReturnType<typeof run>>;

/**
 * Runs a command as the cluster's administrator, or as the user `as`. Spaces in `line` separate the
 * words.
 */
export type Plugin = (line: string, input?: string, as?: string) => Promise<Ran>;

export const pluginOn =
  (on: () => Plane): Plugin =>
  (line, input = "", as) => {
    const { kubeconfig } = on().cluster;
    const configFile = as === undefined ? kubeconfig : impersonating(kubeconfig, as);
    const argv = [...line.split(" "), "--kubeconfig", configFile];
    return run([process.execPath, program, ...argv], input);
  };

/** A kubeconfig with which the administrator impersonates another user. */
function impersonating(kubeconfig: string, as: string): string {
  const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as { users: { user: object }[] };
  const users = config.users.map(({ user, ...rest }) => ({ ...rest, user: { ...user, as } }));
  return file(`${as}.kubeconfig`, JSON.stringify({ ...config, users }));
}

export type PluginRig = Readonly<{ on: () => Plane; plugin: Plugin }>;

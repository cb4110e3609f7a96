/**
 * The agent as the controller deploys it. Its flags come from the DaemonSet that the controller
 * applies.
 */
import { policyWith } from "#controller/policy/policy.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset.ts";
import { mountPaths } from "#contract/names.ts";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { freshBundle } from "#tools/build/bundle.ts";
import type { NodeDirectory } from "./node-directory.ts";

/** The DaemonSet that the controller applies if no policy is declared. */
function daemonSetOf(): ReturnType<typeof daemonSet> {
  const run = { image: "x", imagePullSecrets: [], probationSeconds: 5 };
  const agent = { ...policyWith().agent, ...run };
  return daemonSet(agent, 1);
}

const container = daemonSetOf().spec?.template.spec?.containers[0];

/** The environment that the DaemonSet gives the agent, except values that belong to one pod. */
export const environment: Readonly<Record<string, string>> = Object.fromEntries(
  (container?.env ?? []).flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])),
);

const dropping = ["setpriv", "--bounding-set=-all", "--no-new-privs"] as const;

/**
 * A command prefix that runs a program as root without capabilities, as in the DaemonSet's
 * container. If the tests do not run as root, or if setpriv is BusyBox's, the prefix is empty, and
 * the program runs unchanged.
 */
export const withoutCapabilities: readonly string[] =
  process.getuid?.() === 0 && spawnSync(dropping[0], [...dropping.slice(1), "true"]).status === 0
    ? dropping
    : [];

let bundles: Promise<string[]> | undefined;

/**
 * Path of the agent's bundle. The first call in each test file builds the bundle again if a source
 * has changed.
 */
export async function agentBundle(): Promise<string> {
  bundles ??= freshBundle();
  return resolve((await bundles).find((path) => path.endsWith("/agent.cjs")) ?? "");
}

/** The directories of a node that the DaemonSet mounts, and the list of these mounts. */
type Mounts = Pick<NodeDirectory, "kubelet" | "secret" | "systemd" | "mountinfo">;

/**
 * The agent's flags are written for the permission model of Node 24, the version in the image.
 * Later versions of Node also deny the network and fsync by handle, therefore on those versions the
 * tests run the agent without the permission model.
 */
const isPermission = (flag: string) => /^--(?:permission|allow-)/.test(flag);
const fitsPermissions = process.versions.node.startsWith("24.");

/**
 * Node's flags in the DaemonSet, with the node's directories in place of the mount paths. The agent
 * may also read the test's list of mounts. `credentials`: the directory with the agent's token.
 */
export function nodeFlags(node: Mounts, credentials: string): string[] {
  const [, ...flags] = container?.command?.slice(0, -1) ?? [];
  const allFlags = [...flags, `--allow-fs-read=${node.mountinfo}`];
  const acceptedFlags = allFlags.filter((flag) => fitsPermissions || !isPermission(flag));
  return acceptedFlags.map((flag) =>
    flag
      .replace(mountPaths.kubelet, node.kubelet)
      .replace(mountPaths.secret, node.secret)
      .replace(mountPaths.systemd, node.systemd)
      .replace(mountPaths.credentials, credentials),
  );
}

/** Registries with long passwords, about 900 KiB of JSON in total. */
export function many(prefix: string): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: 900 }, (_, index) => [`${prefix}${index}.example`, "x".repeat(700)]),
  );
}

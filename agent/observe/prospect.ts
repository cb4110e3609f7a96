/**
 * Whether a node could have mode CredentialProvider, by what lies there: the fact that the pod's
 * first container leaves as its last words, whatever the mode is. What a running kubelet was told
 * is looked at when the mode is asked for; here nobody is asked.
 */
import { join } from "node:path";
import {
  kubeadmDirectory,
  kubeadmFlagsFile,
  kubeletArgumentFiles,
  kubeletUnitFiles,
  prospectPrefix,
  providerFiles,
  registrations,
  scopes,
} from "#contract/names.ts";
import { judgeConfig } from "#pullsecret/provider/config.ts";
import { flagsIn } from "#pullsecret/provider/flags.ts";
import { isNoexec } from "../delivery/provider/installation.ts";
import { readRegular } from "../files/regular-file.ts";

/** Units have a few hundred bytes, a provider's configuration with a thousand rows 64 KiB. */
const mostBytes = 256 * 1024;
const read = new RegExp(`^EnvironmentFile=-?${kubeadmDirectory}/${kubeadmFlagsFile}$`, "m");

/**
 * `provider: Agent`, `provider: Preinstalled`, both with a comma, or `provider: none` and why.
 * Never throws.
 */
export function prospectOf(root: string, kubeletDirectory: string): string {
  const bytesOf = (path: string) => bytesIn(join(root, path));
  const own = (name: string) => bytesOf(join(kubeletDirectory, name));
  const say = (what: string) => `${prospectPrefix}${what}`;
  if (runsNothing(join(root, kubeletDirectory)))
    return say("none, the kubelet's directory is mounted noexec");
  const config = own(providerFiles.config);
  const isPrepared =
    own(providerFiles.script) !== undefined &&
    config !== undefined &&
    scopes.some((scope) => judgeConfig(config, scope).ok);
  const env = own(kubeadmFlagsFile)?.toString("latin1");
  const why = whyNotByAgents(kubeletDirectory, env, bytesOf);
  // A kubelet that reads kubeadm's file, and is told nothing there, asks no provider.
  const isTold = why !== undefined || (env !== undefined && flagsIn(env) === "with");
  const by = registrations.filter((one) =>
    one === "Agent" ? why === undefined : isPrepared && isTold,
  );
  return say(by.length > 0 ? by.join(", ") : `none, ${why}`);
}

function whyNotByAgents(
  kubeletDirectory: string,
  env: string | undefined,
  bytesOf: (path: string) => Buffer | undefined,
): string | undefined {
  if (kubeletDirectory !== kubeadmDirectory || env === undefined)
    return `it has no ${kubeadmDirectory}/${kubeadmFlagsFile}`;
  const flags = flagsIn(env);
  if (typeof flags === "object") return flags.why;
  if (!kubeletUnitFiles.some((file) => read.test(bytesOf(file)?.toString("latin1") ?? "")))
    return `no unit of the kubelet's is seen to read ${kubeadmFlagsFile}`;
  const other = kubeletArgumentFiles.find((file) =>
    bytesOf(file)?.includes("--image-credential-provider-"),
  );
  return other && `${other} names a credential provider already`;
}

function bytesIn(file: string): Buffer | undefined {
  try {
    const found = readRegular(file, mostBytes, "refuse");
    return "bytes" in found ? found.bytes : undefined;
  } catch {
    return undefined;
  }
}

function runsNothing(path: string): boolean {
  try {
    return isNoexec(path);
  } catch {
    return false;
  }
}

/** Whether a kubelet has the flags that we give it, or can have them. Pure. */
import { kubeadmDirectory, kubeadmFlagsFile } from "#contract/names.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import type { Facts } from "./facts.ts";
import { codes, type Code } from "./problems.ts";

const path = `${kubeadmDirectory}/${kubeadmFlagsFile}`;

/** Why it would not take them from kubeadm's file; undefined if it would. */
export function whyUnregistrable(start: Facts["start"]): string | undefined {
  if (start === undefined) return "systemd is not asked for its arguments";
  if ("unknown" in start) return start.unknown;
  if (!start.environmentFiles.includes(path)) return `its unit does not read ${path}`;
  if (start.command === undefined) return "systemd does not tell its arguments";
  return toldOf(start.command) === "another"
    ? "it has a credential provider of somebody else's"
    : undefined;
}

/**
 * Whether ours are in the file and the running process was told something else; undefined where
 * systemd has not said what it was told.
 */
export function isUnheard({ file, start }: Pick<Facts, "file" | "start">): boolean | undefined {
  if (!("registers" in file) || file.registers !== "registered") return false;
  const command = start && "command" in start ? start.command : undefined;
  return command === undefined ? undefined : toldOf(command) !== "ours";
}

/** The code for a node that cannot be served in this way. */
export function unfitFor(file: Facts["file"]): Code {
  const registers = "registers" in file && file.registers !== undefined;
  return registers ? codes.unregistrable : codes.providerUnfit;
}

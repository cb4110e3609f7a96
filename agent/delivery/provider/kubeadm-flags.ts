/** Our flags in kubeadm's file: put there, taken out, and what cannot be judged. Pure. */
import { kubeadmFlagsFile, providerFiles } from "#contract/names.ts";
import { withFlags, withoutFlags } from "#pullsecret/provider/flags.ts";
import type { Journal } from "#agent/journal/journal.ts";
import type { Put } from "../delivery.ts";
import type { ProviderTree } from "./tree.ts";

export function flagsInto({ flags, env }: ProviderTree): Put[] {
  return flags === "without" && env.kind === "file" ? [edited(env, withFlags)] : [];
}

export function flagsOut({ flags, env }: ProviderTree): Put[] {
  return flags === "with" && env.kind === "file" ? [edited(env, withoutFlags)] : [];
}

/**
 * Why nobody can tell whether our flags are there still, nor take them out; undefined where that
 * can be done, or they surely are not. A file that cannot be judged is no file without them: a
 * kubelet whose flags name what is gone does not start.
 */
export function inDoubt(
  { flags, env, names }: ProviderTree,
  journal: Journal | undefined,
): string | undefined {
  if (typeof flags === "string" || env.kind === "absent") return undefined;
  if (env.kind === "file" && !env.bytes.includes(providerFiles.folder)) return undefined;
  // Such as on a node that could never be registered, and was served by config.json.
  if (names.length === 0 && !journal?.owned.flags) return undefined;
  return `${flags.why}; it may still name our credential provider`;
}

function edited(
  env: Extract<ProviderTree["env"], { kind: "file" }>,
  edit: (text: string) => string,
): Put {
  const bytes = Buffer.from(edit(env.bytes.toString("latin1")), "latin1");
  const { identity: expected, mode } = env;
  return { name: kubeadmFlagsFile, file: { bytes, mode }, expected };
}

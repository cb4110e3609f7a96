/** The extra sources that policy declares, in order. Pure. */
import { additionalSecretName, globalSecretName } from "#contract/names.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { finding } from "./problems.ts";

/** The highest first; equal ones by name. */
export function ranked(sources: readonly ExtraSource[]): readonly ExtraSource[] {
  return sources.toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
}

/** A warning for each of them whose place only its name decides. */
export function samePriorities(sources: readonly ExtraSource[]): Problem[] {
  return ranked(sources).flatMap(({ name, priority }, at, all) => {
    const before = all[at - 1];
    return before?.priority === priority
      ? [finding("samePriority", name, "priority", before.name)]
      : [];
  });
}

/** A warning for each source that only a deleted object named. */
export function orphans(names: readonly string[]): Problem[] {
  return names.map((name) => finding("sourceOrphaned", name, "spec.sources"));
}

/** Ours hold what was merged, and additional-pull-secret is a source already: a loop, or twice. */
export function isReserved({ secretName }: ExtraSource): boolean {
  return secretName.startsWith(globalSecretName) || secretName === additionalSecretName;
}

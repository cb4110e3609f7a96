/** The extra sources that the policy declares, in order. Pure. */
import { additionalSecretName, globalSecretName } from "#contract/names.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { finding } from "./problems.ts";

/** The sources by priority, highest first; those of equal priority by name. */
export function ranked(sources: readonly ExtraSource[]): readonly ExtraSource[] {
  return sources.toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
}

/** A warning for each source that is ranked by its name alone. */
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

/**
 * True for a Secret that may not be a source: ours hold what was merged, which would be a loop, and
 * additional-pull-secret is a source already.
 */
export function isReserved({ secretName }: ExtraSource): boolean {
  return secretName.startsWith(globalSecretName) || secretName === additionalSecretName;
}

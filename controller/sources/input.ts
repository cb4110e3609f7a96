/**
 * The sources as input for the verdict: id, place of the Secret, the Secret itself, and traits.
 * The order in the list is the priority, highest first. To add a kind of source, add its type and
 * traits here. Pure.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace, sourceIds, globalSecretName } from "#contract/names.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { finding } from "./problems.ts";

/**
 * The Secret, or why there is none. `kept`: it is absent, or has lost most of its registries, but
 * its grace period has not ended, so its last accepted document stays in force. `forbidden`: the
 * right to read it is missing.
 * `unknown`: the API server does not answer.
 */
type Found = V1Secret | "absent" | "kept" | "forbidden" | "unknown";

/**
 * The traits on which rules depend. No rule depends on the kind itself, so a new kind only needs
 * traits.
 */
type Traits = Readonly<{
  /**
   * When the source's entries should be on nodes. `whilePresent`: while its Secret exists, valid or
   * not. `onceAccepted`: only after it has been valid, so that a source that was never valid cannot
   * block a withdrawal. `never`: its entries are only merged with the entries of other sources. If
   * such a source is absent, nothing is removed, and its entries stay when the other sources are
   * withdrawn.
   */
  applies: "whilePresent" | "onceAccepted" | "never";
  /**
   * Core sources are chosen first, as if there were no other sources. Each other source is then
   * added if it fits.
   */
  core: boolean;
  /** An administrator declared that the source exists, so we report its absence. */
  expected: boolean;
}>;

const traits = {
  additional: { applies: "whilePresent", core: true, expected: false },
  extra: { applies: "onceAccepted", core: false, expected: true },
  original: { applies: "never", core: true, expected: true },
} as const satisfies Readonly<Record<string, Traits>>;

type InputOf<Kind extends keyof typeof traits, F> = (typeof traits)[Kind] &
  Readonly<{
    kind: Kind;
    /** The name of the source in the persisted `sources`. */
    id: string;
    /** NAMESPACE/NAME of its Secret. */
    secret: string;
    lookup: F;
    /** When a kept source will lose its entries. Undefined: only on request. */
    until?: Date | undefined;
    /** The registries that a kept source will lose. Empty: all, because the Secret is deleted. */
    lost?: readonly string[];
  }>;

/** additional-pull-secret, the source with the highest priority. */
export type AdditionalInput = InputOf<"additional", V1Secret | "absent" | "kept">;

/**
 * A Secret that `spec.sources` names. `reserved`: the Secret must not be a source, and is not read.
 */
export type ExtraInput = InputOf<"extra", Found | "reserved">;

/**
 * The source with the lowest priority: the credentials that nodes might have had before our first
 * change.
 */
export type OriginalInput = InputOf<"original", Original>;

/** The original Secret. It counts as absent if the right to read it is missing. */
export type Original = V1Secret | "absent" | "unknown";

/**
 * A source's absence. The state must record `since`, so that a later run ends the grace period.
 * `begins`: undefined if the entries leave only on request. `lost`: the registries
 * that leave; empty for all, because the Secret is absent.
 */
export type Withdrawal = Readonly<{
  since: Date;
  begins: Date | undefined;
  due: boolean;
  lost: readonly string[];
}>;

export type SourceInput = AdditionalInput | ExtraInput | OriginalInput;

export function additionalInput(lookup: AdditionalInput["lookup"]): AdditionalInput {
  const secret = `${namespace}/${additionalSecretName}`;
  return { ...traits.additional, kind: "additional", id: sourceIds.additional, secret, lookup };
}

/** `name`: its name in `spec.sources`. `secret`: NAMESPACE/NAME. */
export function extraInput(name: string, secret: string, lookup: ExtraInput["lookup"]): ExtraInput {
  return { ...traits.extra, kind: "extra", id: name, secret, lookup };
}

/** `secret`: NAMESPACE/NAME. */
export function originalInput(secret: string, lookup: Original): OriginalInput {
  return { ...traits.original, kind: "original", id: sourceIds.original, secret, lookup };
}

/** The sources that remain after a withdrawal. */
export function withdrawn(inputs: readonly SourceInput[]): readonly SourceInput[] {
  return inputs.filter(({ applies }) => applies === "never");
}

/** The sources by priority, highest first. Sources of equal priority are ordered by name. */
export function ranked(sources: readonly ExtraSource[]): readonly ExtraSource[] {
  return sources.toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
}

/**
 * A warning for each source that has the same priority as the source before it, so that only the
 * names decide the order.
 */
export function samePriorities(sources: readonly ExtraSource[]): Problem[] {
  return ranked(sources).flatMap(({ name, priority }, at, all) => {
    const before = all[at - 1];
    return before?.priority === priority
      ? [finding("samePriority", name, "priority", before.name)]
      : [];
  });
}

/** A warning for each source that only a deleted object listed. */
export function orphans(names: readonly string[]): Problem[] {
  return names.map((name) => finding("sourceOrphaned", name, "spec.sources"));
}

/**
 * True for a Secret that must not be a source. Our own Secrets would form a loop, because they
 * contain the merged entries. additional-pull-secret is already a source.
 */
export function isReserved({ secretName }: ExtraSource): boolean {
  return secretName.startsWith(globalSecretName) || secretName === additionalSecretName;
}

/**
 * Sources, the input of every judgement: each with its id, where its Secret is, what was found
 * there, and its traits. Its priority is its place in the list, highest first. A new kind of source
 * has its type and its traits here.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace, sourceIds, globalSecretName } from "#contract/names.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { ExtraSource } from "#controller/policy/policy.ts";
import { finding } from "./problems.ts";

/**
 * The Secret, or why there is none. `kept`: it is absent, but not for long enough, so its last
 * accepted document stays in force. `forbidden`: there is no right to read it. `unknown`: the API
 * server does not answer, so nobody can tell whether it exists.
 */
type Found = V1Secret | "absent" | "kept" | "forbidden" | "unknown";

/** What rules ask of a source. None asks for its kind: a new kind has its answers here. */
type Traits = Readonly<{
  /**
   * When it asks for its entries to be on nodes: `whilePresent`, in order or not; `onceAccepted`, so
   * that one that never was cannot hold up a withdrawal; `never`: it is only merged with what
   * others ask for, its absence takes nothing back, and it stays when they are withdrawn.
   */
  applies: "whilePresent" | "onceAccepted" | "never";
  /** Chosen first, as if there were no other source. Others then join as far as they fit. */
  core: boolean;
  /** Somebody declared that it exists, so its absence is told. */
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
    found: F;
    /** Until when it is kept, if it is. */
    until?: Date;
  }>;

/** additional-pull-secret, the highest source. */
export type AdditionalInput = InputOf<"additional", V1Secret | "absent" | "kept">;

/**
 * A Secret that `spec.sources` names. `reserved`: that Secret may not be a source, and is not read.
 */
export type ExtraInput = InputOf<"extra", Found | "reserved">;

/** The credentials that nodes may have had before us; the lowest source. */
export type OriginalInput = InputOf<"original", Original>;

/** The original Secret. Without the right to read it, it counts as absent. */
export type Original = V1Secret | "absent" | "unknown";

export type SourceInput = AdditionalInput | ExtraInput | OriginalInput;

export function additionalInput(found: AdditionalInput["found"]): AdditionalInput {
  const secret = `${namespace}/${additionalSecretName}`;
  return { ...traits.additional, kind: "additional", id: sourceIds.additional, secret, found };
}

/** `name`: in `spec.sources`. `secret`: NAMESPACE/NAME. */
export function extraInput(name: string, secret: string, found: ExtraInput["found"]): ExtraInput {
  return { ...traits.extra, kind: "extra", id: name, secret, found };
}

/** `secret`: NAMESPACE/NAME. */
export function originalInput(secret: string, found: Original): OriginalInput {
  return { ...traits.original, kind: "original", id: sourceIds.original, secret, found };
}

/** The sources that remain after all that ask for anything are withdrawn. */
export function withdrawn(inputs: readonly SourceInput[]): readonly SourceInput[] {
  return inputs.filter(({ applies }) => applies === "never");
}

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

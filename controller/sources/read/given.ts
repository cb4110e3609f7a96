/**
 * What was found of each source, the input of every judgement. A new kind of source has its type
 * here.
 */
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace, sourceIds } from "#contract/names.ts";

/**
 * The Secret, or why there is none. `kept`: it is absent, but not for long enough, so its last
 * accepted document stays in force. `forbidden`: there is no right to read it. `unknown`: the API
 * server does not answer, so nobody can tell whether it exists.
 */
type Found = V1Secret | "absent" | "kept" | "forbidden" | "unknown";

type Common = Readonly<{
  /** The name of the source in the persisted `sources`. */
  id: string;
  /** NAMESPACE/NAME of its Secret. */
  secret: string;
}>;

/** additional-pull-secret, the highest source. */
export type AdditionalGiven = Common &
  Readonly<{
    kind: "additional";
    found: V1Secret | "absent" | "kept";
    /** Until when it is kept, if it is. */
    until?: Date;
  }>;

/**
 * A Secret that `spec.sources` names. `reserved`: that Secret may not be a source, and is not read.
 */
export type ExtraGiven = Common &
  Readonly<{
    kind: "extra";
    found: Found | "reserved";
    until?: Date;
  }>;

/** The credentials that nodes may have had before us; the lowest source. */
export type OriginalGiven = Common & Readonly<{ kind: "original"; found: Original }>;

/** The original Secret. Without the right to read it, it counts as absent. */
export type Original = V1Secret | "absent" | "unknown";

export type Given = AdditionalGiven | ExtraGiven | OriginalGiven;

export function givenAdditional(found: AdditionalGiven["found"]): AdditionalGiven {
  const { additional: id } = sourceIds;
  return { kind: "additional", id, secret: `${namespace}/${additionalSecretName}`, found };
}

/** `secret`: NAMESPACE/NAME. */
export function givenOriginal(secret: string, found: Original): OriginalGiven {
  return { kind: "original", id: sourceIds.original, secret, found };
}

/** The sources that remain after all but the original are withdrawn. */
export function withdrawn(given: readonly Given[]): readonly Given[] {
  return given.filter(({ kind }) => kind === "original");
}

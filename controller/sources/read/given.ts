/** What was found of each source: the input of every judgement. A new kind has its type here. */
import type { V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace, sourceIds } from "#contract/names.ts";

/**
 * `kept`: it is absent, but not for long enough: its last accepted document stays in force.
 * `forbidden`: there is no right to read it. `unknown`: the API server gives no answer, so nobody
 * can say whether there is one.
 */
type Found = V1Secret | "absent" | "kept" | "forbidden" | "unknown";

type Common = Readonly<{
  /** As the persisted `sources` name it. */
  id: string;
  /** NAMESPACE/NAME of its Secret. */
  secret: string;
}>;

/** additional-pull-secret, the highest. */
export type AdditionalGiven = Common &
  Readonly<{
    kind: "additional";
    found: V1Secret | "absent" | "kept";
    /** Where it is kept: until when. */
    until?: Date;
  }>;

/** A Secret that `spec.sources` names. `reserved`: no source may be that one; it is not read. */
export type ExtraGiven = Common &
  Readonly<{
    kind: "extra";
    found: Found | "reserved";
    until?: Date;
  }>;

/** What nodes may live with already; the lowest. */
export type OriginalGiven = Common & Readonly<{ kind: "original"; found: Original }>;

/** The original Secret. Without the right to read it an original is as good as absent. */
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

/** The sources as after the withdrawal of all but the original. */
export function withdrawn(given: readonly Given[]): readonly Given[] {
  return given.filter(({ kind }) => kind === "original");
}

/**
 * The verdict on the sources after a run, for status, Events and metrics. It contains no
 * credential.
 */
import type { SourceReason } from "#api/reasons.ts";
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import { expiryOf } from "#pullsecret/document/expiry.ts";
import { formatPath, redactKey } from "#pullsecret/problems/keypath.ts";
import type { MergedEntry } from "#pullsecret/merge/merge.ts";
import { formatProblem, problem, type Problem } from "#pullsecret/problems/problems.ts";
import type { SourceInput } from "./input.ts";

/** The verdict on one source. Verdicts are ordered highest priority first. */
export type SourceVerdict = Readonly<{
  /** `additional-pull-secret`, `original`, or the name in `spec.sources`. */
  name: string;
  /** NAMESPACE/NAME of its Secret. */
  secret: string;
  /** resourceVersion of the Secret that was read. Undefined if there was none. */
  resourceVersion: string | undefined;
  /** `Unknown`: the present content cannot be read. */
  accepted: "True" | "False" | "Unknown";
  reason: SourceReason;
  /**
   * Codes, faults, what to do, and which content stays in force. Contains no value from the Secret.
   */
  message: string;
  problems: readonly Problem[];
}>;

/** Which source supplies a registry. The names of sources are those in `SourceVerdict`. */
export type RegistryVerdict = Readonly<{
  registry: string;
  source: string;
  /** Sources with another credential for this registry, highest priority first. */
  shadows: readonly string[];
  /** When the credential expires, if the credential contains this time. */
  expires?: string;
  /** The registry's answer about the credential. Absent with mode Off. */
  verified?: "Accepted" | "Denied" | "Unknown";
  /** When the registry answered. */
  verifiedAt?: string;
}>;

/**
 * The name of a source for users: the name of the additional Secret, and the id of every other
 * source.
 */
export const nameOf = (id: string): string =>
  id === sourceIds.additional ? additionalSecretName : id;

/** True for a source in spec.sources. The names of the other two sources are reserved. */
export const isExtra = ({ name }: Pick<SourceVerdict, "name">): boolean =>
  name !== additionalSecretName && name !== sourceIds.original;

/**
 * Registries for users. If a key of the original contains a credential, the credential is removed.
 * If two keys then look the same, they become one registry, because the API accepts each name only
 * once.
 */
export function registriesOf(entries: readonly MergedEntry[]): readonly RegistryVerdict[] {
  const byRegistry = new Map<string, RegistryVerdict>();
  for (const { registry: key, credential, from, shadows } of entries) {
    const registry = redactKey(key);
    if (byRegistry.has(registry)) continue;
    const expires = expiryOf(credential)?.toISOString();
    byRegistry.set(registry, {
      registry,
      source: nameOf(from),
      shadows: shadows.map(nameOf),
      ...(expires !== undefined && { expires }),
    });
  }
  return [...byRegistry.values()];
}

/** A warning for each credential that has expired. `now`: the wall clock. */
export function expiredIn(registries: readonly RegistryVerdict[], now: Date): Problem[] {
  return registries.flatMap(({ registry, source, expires }) =>
    expires === undefined || Date.parse(expires) > now.getTime()
      ? []
      : [problem("expired", source, formatPath(["auths", registry]), expires)],
  );
}

/**
 * The verdict on one source. An absent source that is not declared has no verdict. `inForce`: the
 * source's present or earlier entries are in force. `leftOut`: the source is acceptable, but does
 * not fit together with the sources of higher priority.
 */
export function verdictOf(
  input: SourceInput,
  problems: readonly Problem[],
  inForce: boolean,
  leftOut: boolean,
): readonly SourceVerdict[] {
  const { lookup, id, secret } = input;
  if (!input.expected && lookup === "absent") return [];
  const reason = leftOut && typeof lookup === "object" ? "LeftOut" : reasonOf(input, problems);
  return [
    {
      name: nameOf(id),
      secret,
      resourceVersion: typeof lookup === "object" ? lookup.metadata?.resourceVersion : undefined,
      accepted: statusOf[reason],
      reason,
      message: lookup === "kept" ? awaited(problems, input.until) : messageOf(problems, inForce),
      problems,
    },
  ];
}

function reasonOf({ lookup, until }: SourceInput, problems: readonly Problem[]): SourceReason {
  if (lookup === "kept") return until === undefined ? "Kept" : "WithdrawalAwaited";
  if (lookup === "absent") return "Missing";
  if (lookup === "forbidden") return "Forbidden";
  if (lookup === "unknown") return "Unreadable";
  return problems.length > 0 ? "Rejected" : "Accepted";
}

const statusOf: Readonly<Record<SourceReason, SourceVerdict["accepted"]>> = {
  Accepted: "True",
  Rejected: "False",
  LeftOut: "False",
  Missing: "False",
  WithdrawalAwaited: "False",
  Kept: "False",
  Verifying: "Unknown",
  Forbidden: "Unknown",
  Unreadable: "Unknown",
};

/** With spec.withdrawal.onDelete Keep. */
export const keptAfterDeletion =
  "deleted, or without entries: its entries stay, because spec.withdrawal.onDelete is Keep; " +
  "create it again, or set Withdraw to remove them";

function awaited(problems: readonly Problem[], until: Date | undefined): string {
  if (until === undefined) return keptAfterDeletion;
  const at = until.toISOString();
  if (problems.length > 0) return `${messageOf(problems, true)}; they are removed at ${at}`;
  return `deleted, or without entries: its entries will be removed at ${at}, unless it is created again`;
}

/**
 * How many problems to show. The others are only counted, because a message of 32 KiB is too long
 * to read.
 */
const shown = 3;

export function messageOf(problems: readonly Problem[], inForce: boolean): string {
  if (problems.length === 0) return "in order";
  const lines = problems
    .slice(0, shown)
    .map((problem) => `${problem.code} ${formatProblem(problem)}`);
  const more = problems.length > shown ? ` | and ${problems.length - shown} more` : "";
  const rest = inForce
    ? "its last accepted entries stay in force"
    : "none of its entries are in force";
  return `${lines.join(" | ")}${more} (${rest})`;
}

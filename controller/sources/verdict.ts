/** What is told of the sources after a run: by status, Event and metric. Holds no credential. */
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import type { MergedEntry } from "#pullsecret/merge/merge.ts";
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import type { Given } from "#controller/sources/read/given.ts";

/** Why a source is accepted or not; a name of the API, so none is ever changed. */
type SourceReason =
  /** It is in order, and what it says now is in force. */
  | "Accepted"
  /** It is refused; its last accepted document stays in force. */
  | "Rejected"
  /** It is in order, but not together with higher ones. */
  | "LeftOut"
  /** There is no such Secret. */
  | "Missing"
  /** It was deleted, and may be made anew until the grace is over. */
  | "WithdrawalAwaited"
  /** The controller has no right to read it. */
  | "Forbidden"
  /** The API server gives no answer about it. */
  | "Unreadable";

/** What became of one source. A run's verdict has a list of them, highest first. */
export type SourceVerdict = Readonly<{
  /** `additional-pull-secret`, `original`, or the name in `spec.sources`. */
  name: string;
  /** NAMESPACE/NAME of its Secret. */
  secret: string;
  /** Of the Secret as it was read; undefined when there was none to read. */
  resourceVersion: string | undefined;
  /** Unknown: nobody can say what is in it now. */
  accepted: "True" | "False" | "Unknown";
  reason: SourceReason;
  /** Codes, what is wrong, what to do and what stays in force; never a value. */
  message: string;
  problems: readonly Problem[];
}>;

/** Who supplies a registry, by the names of the sources' verdicts. */
export type RegistryVerdict = Readonly<{
  registry: string;
  source: string;
  /** Sources that have another credential for it, highest first. */
  shadows: readonly string[];
}>;

/** How people know a source: the id of the additional is a word of the persisted format. */
export const nameOf = (id: string): string =>
  id === sourceIds.additional ? additionalSecretName : id;

/** One of spec.sources: no source of these may have one of the two other names. */
export const isExtra = ({ name }: Pick<SourceVerdict, "name">): boolean =>
  name !== additionalSecretName && name !== sourceIds.original;

/**
 * Registries as people may read them: what may be a secret in an original's key is left out. Keys
 * that differ in nothing else are one registry, for the API takes each name once.
 */
export function registriesOf(entries: readonly MergedEntry[]): readonly RegistryVerdict[] {
  const told = new Map<string, RegistryVerdict>();
  for (const { registry: key, from, shadows } of entries) {
    const registry = redactKey(key);
    if (!told.has(registry))
      told.set(registry, { registry, source: nameOf(from), shadows: shadows.map(nameOf) });
  }
  return [...told.values()];
}

/**
 * What is told of one source; nothing of an additional that is not there, which nobody must have.
 * `inForce`: entries of it are, whether of now or of before. `leftOut`: it is in order, but does
 * not go with higher ones.
 */
export function verdictOf(
  given: Given,
  problems: readonly Problem[],
  inForce: boolean,
  leftOut: boolean,
): readonly SourceVerdict[] {
  const { found, id, secret } = given;
  if (given.kind === "additional" && found === "absent") return [];
  const reason = leftOut && typeof found === "object" ? "LeftOut" : reasonOf(found, problems);
  const until = given.kind === "original" ? undefined : given.until;
  return [
    {
      name: nameOf(id),
      secret,
      resourceVersion: typeof found === "object" ? found.metadata?.resourceVersion : undefined,
      accepted: statusOf[reason],
      reason,
      message: found === "kept" ? awaited(until) : messageOf(problems, inForce),
      problems,
    },
  ];
}

function reasonOf(found: Given["found"], problems: readonly Problem[]): SourceReason {
  if (found === "kept") return "WithdrawalAwaited";
  if (found === "absent") return "Missing";
  if (found === "forbidden") return "Forbidden";
  if (found === "unknown") return "Unreadable";
  return problems.length > 0 ? "Rejected" : "Accepted";
}

const statusOf: Readonly<Record<SourceReason, SourceVerdict["accepted"]>> = {
  Accepted: "True",
  Rejected: "False",
  LeftOut: "False",
  Missing: "False",
  WithdrawalAwaited: "False",
  Forbidden: "Unknown",
  Unreadable: "Unknown",
};

function awaited(until: Date | undefined): string {
  const at = until === undefined ? "" : ` from ${until.toISOString()} on`;
  return `deleted: its entries are taken back${at}, unless it is made anew`;
}

/** More than these are counted, not shown: nobody reads 32 KiB of message. */
const shown = 3;

/** The message of a verdict: what is wrong and what to do, then what is in force meanwhile. */
export function messageOf(problems: readonly Problem[], inForce: boolean): string {
  if (problems.length === 0) return "in order";
  const lines = problems.slice(0, shown).map((one) => `${one.code} ${formatProblem(one)}`);
  const more = problems.length > shown ? ` | and ${problems.length - shown} more` : "";
  const rest = inForce
    ? "its last accepted entries stay in force"
    : "none of its entries is in force";
  return `${lines.join(" | ")}${more} (${rest})`;
}

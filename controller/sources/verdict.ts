/** The report on the sources after a run, for status, Event and metric. Has no credential. */
import type { SourceReason } from "#api/reasons.ts";
import { additionalSecretName, sourceIds } from "#contract/names.ts";
import { expiryOf } from "#pullsecret/document/expiry.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import type { MergedEntry } from "#pullsecret/merge/merge.ts";
import { formatProblem, type Problem } from "#pullsecret/problems/problems.ts";
import type { SourceInput } from "./input.ts";

/** The outcome of one source. A run's verdict lists them highest first. */
export type SourceVerdict = Readonly<{
  /** `additional-pull-secret`, `original`, or the name in `spec.sources`. */
  name: string;
  /** NAMESPACE/NAME of its Secret. */
  secret: string;
  /** resourceVersion of the Secret that was read; undefined when there was none. */
  resourceVersion: string | undefined;
  /** `Unknown`: its present content cannot be read. */
  accepted: "True" | "False" | "Unknown";
  reason: SourceReason;
  /** Codes, what is wrong, what to do and what stays in force; never a value. */
  message: string;
  problems: readonly Problem[];
}>;

/** Which source supplies a registry. Sources have the names of their verdicts. */
export type RegistryVerdict = Readonly<{
  registry: string;
  source: string;
  /** Sources with another credential for it, highest first. */
  shadows: readonly string[];
  /** When its credential ends, if the credential tells. */
  expires?: string;
}>;

/**
 * The name by which users know a source. The id of the additional is a word of the persisted
 * format.
 */
export const nameOf = (id: string): string =>
  id === sourceIds.additional ? additionalSecretName : id;

/** True for one of spec.sources: none of these may have one of the other two names. */
export const isExtra = ({ name }: Pick<SourceVerdict, "name">): boolean =>
  name !== additionalSecretName && name !== sourceIds.original;

/**
 * Registries as users may read them, without what may be a secret in an original's key. Keys that
 * differ in nothing else become one registry, because the API takes each name once.
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

/**
 * The verdict on one source. There is none on an absent one that nobody declared. `inForce`:
 * entries of it are, from now or from before. `leftOut`: it is in order, but does not fit together
 * with higher sources.
 */
export function verdictOf(
  input: SourceInput,
  problems: readonly Problem[],
  inForce: boolean,
  leftOut: boolean,
): readonly SourceVerdict[] {
  const { found, id, secret } = input;
  if (!input.expected && found === "absent") return [];
  const reason = leftOut && typeof found === "object" ? "LeftOut" : reasonOf(found, problems);
  return [
    {
      name: nameOf(id),
      secret,
      resourceVersion: typeof found === "object" ? found.metadata?.resourceVersion : undefined,
      accepted: statusOf[reason],
      reason,
      message: found === "kept" ? awaited(input.until) : messageOf(problems, inForce),
      problems,
    },
  ];
}

function reasonOf(found: SourceInput["found"], problems: readonly Problem[]): SourceReason {
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
  return `deleted: its entries are taken back${at}, unless it is created again`;
}

/**
 * Problems that a message shows; more are only counted, because a message of 32 KiB is not read.
 */
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

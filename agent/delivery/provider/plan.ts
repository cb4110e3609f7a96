/** config.json and the provider's answer as found, and the plans for both files. Pure. */
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import type { FileIdentity } from "#agent/files/atomic-write.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { answerOf, answerWithout, whyUnanswerable } from "#pullsecret/provider.ts";
import { digestOf, type Journal, nothingOwned, type Owned } from "#agent/journal/journal.ts";
import type { FoundAnswer, FoundFile, Plan, Put, Removal } from "../delivery.ts";
import type { Document, Desired } from "../mount.ts";

export type InstalledAnswer = Readonly<{
  /**
   * The bytes of the answer; undefined if there is no answer, empty if we must write the answer
   * again.
   */
  answer: Buffer | undefined;
  /**
   * Why we cannot read the answer. `answer` is then undefined, but the kubelet might use the file.
   */
  unseen?: string;
  identity: FileIdentity;
  /** Why the kubelet cannot use the provider. */
  unfit?: string;
}>;

export type InstalledProvider = InstalledAnswer &
  Readonly<{
    /** The images for which the kubelet runs our script; empty if the kubelet cannot run it. */
    rows: readonly string[];
    /** The kubelet has run our script, so the kubelet's flags name the script. */
    asked: boolean;
  }>;

const notAsked = "the kubelet has not run its credential provider yet";
export const emptyAnswer = answerOf(new Map());

/** The files while the credential provider is in force. `config`: config.json alone. */
export function providedBy(
  config: FoundFile,
  installed: InstalledProvider,
  scope: ProviderScope,
): FoundFile {
  return {
    ...config,
    unfit: installed.unfit,
    note: installed.asked ? undefined : notAsked,
    plan(journal, document, lost) {
      if (document.intent === "release")
        return planRelease(config, installed, journal, document, lost);
      const owned = journal?.owned ?? nothingOwned;
      const shares = share(document.desired, installed, owned, scope);
      const planned = config.plan(journal, { ...document, desired: shares.config }, lost);
      const bytes = answerOf(shares.answer);
      const put = putOf(installed, bytes);
      const [first] = shares.unserved;
      const unserved = first && `${quote(first.key)}: ${first.why}`;
      return {
        ...withAnswer(
          planned,
          installed,
          { ...put, ...formerIn(installed, owned.answer) },
          "first",
        ),
        owned: withDigest(planned.owned, bytes),
        meanwhile: withDigest(planned.meanwhile, bytes),
        unfit: installed.unfit ?? unserved,
      };
    },
    planRemoval: (journal, isLeaving) => planRemoval(config, installed, journal, isLeaving),
    holds: (owned) => config.holds(owned) && isThere(installed, owned.answer),
  };
}

/**
 * The files when config.json takes over again after mode CredentialProvider. The agent empties the
 * provider's answer only after config.json is proved.
 */
export function afterProvider(config: FoundFile, installed: InstalledAnswer): FoundFile {
  return {
    ...config,
    plan(journal, document, lost) {
      if (document.intent === "release")
        return planRelease(config, installed, journal, document, lost);
      const answer = journal?.owned.answer;
      const planned = config.plan(journal, document, lost);
      if (answer === undefined) return planned;
      const meanwhile = { ...planned.meanwhile, answer };
      // While `rereads` is set, the kubelet might still use an earlier config.json.
      const isProved = journal?.phase === "applied" && journal.rereads === undefined;
      if (!planned.changed && isProved)
        return emptied({ ...planned, meanwhile }, installed, answer);
      return { ...planned, owned: { ...planned.owned, answer }, meanwhile };
    },
    planRemoval: (journal, isLeaving) => planRemoval(config, installed, journal, isLeaving),
    // The answer is about to be removed, so its content does not count.
    holds: config.holds,
  };
}

/**
 * Restores config.json first, so that its credentials are in force when the agent empties the
 * provider's answer. If config.json cannot be written, the agent only empties the answer.
 */
function planRelease(
  config: FoundFile,
  installed: InstalledAnswer,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
): Plan {
  const planned = config.plan(journal, document, lost);
  const { answer: _answer, ...owned } = planned.owned;
  // The journal lists the provider's answer as ours until the agent has emptied it, because the
  // agent might be killed before that.
  const answer = journal?.owned.answer;
  const meanwhile = answer === undefined ? planned.meanwhile : { ...planned.meanwhile, answer };
  return emptied({ ...planned, owned, meanwhile }, installed, answer);
}

/** Removes the registries that leave from config.json and from the answer. */
function planRemoval(
  config: FoundFile,
  installed: InstalledAnswer,
  journal: Journal,
  isLeaving: (registry: string) => boolean,
): Removal | undefined {
  const planned = config.planRemoval(journal, isLeaving);
  const bytes = installed.answer && answerWithout(installed.answer, isLeaving);
  if (bytes === undefined) return planned;
  const { owned } = journal;
  const { changed, ...rest } = planned ?? {
    changed: false,
    file: config.now,
    owned,
    meanwhile: owned,
  };
  return {
    ...rest,
    changed: true,
    ...(!changed && { keepsConfig: true }),
    first: putOf(installed, bytes),
    owned: withDigest(rest.owned, bytes),
    meanwhile: withDigest(rest.meanwhile, bytes),
  };
}

/**
 * The plan, extended so that it also empties the answer. While we cannot read the answer, the
 * journal still lists it as ours, with the digest `recorded`.
 */
function emptied(planned: Plan, installed: InstalledAnswer, recorded: string | undefined): Plan {
  if (installed.unseen !== undefined && recorded !== undefined)
    return { ...planned, owned: { ...planned.owned, answer: recorded } };
  return installed.answer === undefined
    ? planned
    : withAnswer(planned, installed, putOf(installed, emptyAnswer), "last");
}

/** How a withdrawal empties only the answer, while config.json cannot be used. */
export function answerIn(installed: InstalledAnswer): FoundAnswer {
  const { unseen, answer } = installed;
  const isEmpty = answer === undefined || answer.equals(emptyAnswer);
  return { unseen, ...(!isEmpty && { empty: putOf(installed, emptyAnswer) }) };
}

function withAnswer(
  planned: Plan,
  installed: InstalledAnswer,
  put: Put,
  order: "first" | "last",
): Plan {
  if (installed.answer?.equals(put.bytes)) return planned;
  return {
    ...planned,
    changed: true,
    ...(!planned.changed && { keepsConfig: true }),
    [order]: put,
  };
}

function putOf({ identity: expected }: InstalledAnswer, bytes: Buffer): Put {
  return { name: providerFiles.answer, bytes, mode: 0o600, expected };
}

/**
 * The answer to put back if the change fails. Absent if the answer is not in force or its bytes are
 * unknown.
 */
function formerIn(installed: InstalledAnswer, recorded: string | undefined): Pick<Put, "former"> {
  const { answer: former = emptyAnswer } = installed;
  return former.length > 0 && isThere(installed, recorded) ? { former } : {};
}

function withDigest(owned: Owned, answer: Buffer): Owned {
  return { ...owned, answer: digestOf(answer) };
}

function isThere({ answer }: InstalledAnswer, digest: string | undefined): boolean {
  return digest === undefined || (answer !== undefined && digestOf(answer) === digest);
}

export type Shares = Readonly<{
  answer: ReadonlyMap<string, unknown>;
  config: Desired;
  /**
   * Registries that only config.json could serve. config.json would serve all pods, which the scope
   * forbids.
   */
  unserved: readonly Readonly<{ key: string; why: string }>[];
}>;

/**
 * Divides the entries between the credential provider's answer and config.json. The original's
 * entries stay in config.json, and so do entries for which the kubelet would not run our script.
 *
 * The kubelet tries config.json before it runs a provider. So we remove an entry from config.json
 * once the kubelet has run our script. Until then, config.json might be the kubelet's only source
 * of the credential.
 */
export function share(
  { entries, rest }: Desired,
  { rows, asked }: Pick<InstalledProvider, "rows" | "asked">,
  owned: Owned,
  scope: ProviderScope,
): Shares {
  const answer = new Map<string, unknown>();
  const config = new Map<string, typeof entries extends ReadonlyMap<string, infer T> ? T : never>();
  const unserved: { key: string; why: string }[] = [];
  const entriesByKey = new Map(owned.entries.map((entry) => [entry.key, entry]));
  for (const [key, entry] of entries) {
    const why = entry.original ? undefined : whyUnanswerable(key, entry.value, rows);
    if (entry.original || (why !== undefined && scope === "All")) config.set(key, entry);
    else if (why !== undefined) unserved.push({ key, why });
    else {
      answer.set(key, entry.value);
      const mine = entriesByKey.get(key);
      if (asked || mine?.vacant) config.set(key, { ...entry, vacant: true });
      else if (mine !== undefined && scope === "All") config.set(key, entry);
    }
  }
  return { answer, config: { entries: config, rest }, unserved };
}

/**
 * What the registries' answers mean for the sources: what is reported, and which sources are
 * withheld.
 */
import type { MergePolicy } from "#pullsecret/merge/merge.ts";
import { formatPath, redactKey } from "#pullsecret/problems/keypath.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import { planOf, verdictsOf, type Verified } from "#registry/question.ts";
import type { VerificationPolicy } from "#controller/policy/policy.ts";
import {
  accept,
  noSourceApplies,
  type Sources,
  type SourcesVerdict,
  type Withheld,
} from "./accept.ts";
import { finding } from "./problems.ts";
import { nameOf, type RegistryVerdict } from "./verdict.ts";
import type { Verifier } from "./verifier.ts";

type Asking = Readonly<{ verification: VerificationPolicy; verifier: Verifier }>;

/**
 * The sources whose present document must not be used now: with mode Refuse, those with a new
 * credential that is denied, or about which no answer has come yet, even if another source
 * overrides it and could leave later. A credential that was accepted before is never new, and a
 * removed entry asks for nothing, so neither is held up.
 */
export function withheldOf(sources: Sources, merge: MergePolicy, asking: Asking): Withheld {
  const withheld = new Map<string, readonly Problem[]>();
  if (asking.verification.mode !== "Refuse" || noSourceApplies(sources)) return withheld;
  // Without one source's new document, another source can supply the registry, so we judge again.
  for (;;) {
    const { denials, awaited } = look(accept({ ...sources, withheld }, merge), asking);
    const before = withheld.size;
    for (const { problem, entry } of denials)
      if (entry.isNew) withheld.set(entry.from, [...(withheld.get(entry.from) ?? []), problem]);
    for (const { from } of awaited) if (!withheld.has(from)) withheld.set(from, []);
    if (withheld.size === before) return withheld;
  }
}

/** The verdict with the registries' answers. `withheld`: as `withheldOf` returned it. */
export function verified(
  verdict: SourcesVerdict,
  withheld: Withheld,
  asking: Asking,
): SourcesVerdict {
  const { mode } = asking.verification;
  if (mode === "Off" || verdict.target?.intent !== "apply") return verdict;
  const { denials, answers } = look({ ...verdict, overridden: [] }, asking);
  const isVerifying = (name: string) =>
    [...withheld].some(([id, reasons]) => nameOf(id) === name && reasons.length === 0);
  return {
    ...verdict,
    denials: denials.map(({ problem }) => problem),
    registries: verdict.registries.map((registry) => ({
      ...registry,
      ...answers.get(registry.registry),
    })),
    sources: verdict.sources.map((source) =>
      isVerifying(source.name) ? { ...source, ...verifying } : source,
    ),
  };
}

const verifying = {
  accepted: "Unknown",
  reason: "Verifying",
  message: "its registries are being asked whether they accept it",
} as const;

type Entry = SourcesVerdict["entries"][number];
type Denial = Readonly<{ problem: Problem; entry: Entry }>;

/** The answers so far. `awaited`: the new entries about which an answer is missing. */
function look({ entries, overridden }: SourcesVerdict, { verification, verifier }: Asking) {
  const plan = planOf(entries, verification.images, overridden);
  const known = verifier.look(plan, verification.intervalSeconds);
  const judged = verdictsOf(plan, known);
  const isNew = (entry: Entry) => entry.isNew;
  const pulled = new Set(judged.images.map(({ image }) => image));
  const awaited = [
    ...[...entries, ...overridden].filter((entry) => !judged.entries.has(entry)),
    ...plan.pulls.flatMap(({ image, tries }) => (pulled.has(image) ? [] : tries)),
  ].filter(isNew);
  return { awaited, denials: denialsIn(judged), answers: answersIn(entries, judged) };
}

/** Denials of images, and of entries that no denied image has named already. */
function denialsIn({ entries, images }: Verified<Entry>): readonly Denial[] {
  const denials: Denial[] = [];
  const named = new Set<Entry>();
  for (const { image, tries, answer, why } of images) {
    if (answer !== "Denied") continue;
    for (const entry of tries) {
      named.add(entry);
      denials.push({ entry, problem: finding("imageDenied", ...placeOf(entry), image, why) });
    }
  }
  for (const [entry, { answer, why }] of entries)
    if (answer === "Denied" && !named.has(entry))
      denials.push({ entry, problem: finding("denied", ...placeOf(entry), why) });
  return denials;
}

const placeOf = ({ from, registry }: Entry) =>
  [nameOf(from), formatPath(["auths", registry])] as const;

type Answered = Pick<RegistryVerdict, "verified" | "verifiedAt">;

/** Registry, as status shows it → the answer. Without an answer yet, it is Unknown. */
function answersIn(entries: readonly Entry[], judged: Verified<Entry>) {
  const answers = new Map<string, Answered>();
  for (const entry of entries.toReversed()) {
    const { answer = "Unknown", at } = judged.entries.get(entry) ?? {};
    answers.set(redactKey(entry.registry), {
      verified: answer,
      ...(at !== undefined && { verifiedAt: at }),
    });
  }
  return answers;
}

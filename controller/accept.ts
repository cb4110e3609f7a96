/**
 * From the two Secrets to the document that should be on the nodes. A source that is not acceptable is replaced by its own
 * last good entries, which global-pull-secret still holds: an invalid additional never stops the original's rotation.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { canonical, sourcesOf } from "../pullsecret/canonical.ts";
import { merge, type From, type MergePolicy } from "../pullsecret/merge.ts";
import { additionalSecretName, secretKeys, secretType } from "../pullsecret/names.ts";
import { parse, type Accepted } from "../pullsecret/parse.ts";
import type { Problem } from "../pullsecret/problems.ts";
import { finding } from "./problems.ts";
import type { Published } from "./publish.ts";

/** What global-pull-secret should say, whatever its revision. */
export type Wanted = Readonly<{ document: string; sources: string; entries: number; fromAdditional: number }>;

export type Verdict = Readonly<{
  /** undefined: there is nothing that could be deployed, and nothing is. */
  wanted: Wanted | undefined;
  /** What is wrong with each source; empty when it is in order or absent. */
  problems: Readonly<Record<From, readonly Problem[]>>;
  warnings: readonly Problem[];
}>;

export type Sources = Readonly<{
  additional: V1Secret | undefined;
  original: V1Secret | undefined;
  /** Name of the original as the flag gives it; undefined when none was asked for. */
  originalName: string | undefined;
  published: Published | undefined;
}>;

export function accept({ additional, original, originalName, published }: Sources, policy: MergePolicy): Verdict {
  const first = originalName === undefined ? absent : readOriginal(original, originalName, published);
  const second = additional === undefined ? absent : readAdditional(additional, published);
  const verdict = join(first, second, policy);
  if (verdict !== undefined) return verdict;
  // The two do not go together (a protected registry, or too much): the additional's last good entries do.
  const good = lastGood(published, "additional");
  const refused = mergeOf(first, second, policy);
  const problems = refused.ok ? [] : refused.problems;
  const fallback = join(first, { ...second, entries: good, problems }, policy);
  return fallback ?? { wanted: undefined, problems: { original: first.problems, additional: problems }, warnings: [] };
}

type Source = Readonly<{ entries: Accepted | undefined; problems: readonly Problem[]; present: boolean }>;
const absent: Source = { entries: undefined, problems: [], present: false };

function join(original: Source, additional: Source, policy: MergePolicy): Verdict | undefined {
  const problems = { original: original.problems, additional: additional.problems };
  // Invalid, and never good: there is nothing to put on a node.
  if (additional.present && additional.entries === undefined) return { wanted: undefined, problems, warnings: [] };
  const merged = mergeOf(original, additional, policy);
  if (!merged.ok) return undefined;
  const sources = sourcesOf(merged);
  const wanted = {
    document: canonical(merged),
    sources: JSON.stringify(sources),
    entries: merged.entries.length,
    fromAdditional: merged.entries.filter(({ from }) => from === "additional").length,
  };
  return { wanted, problems, warnings: additional.problems.length > 0 ? [] : merged.warnings };
}

function mergeOf(original: Source, additional: Source, policy: MergePolicy) {
  return merge(
    {
      ...(original.entries === undefined ? {} : { original: original.entries }),
      ...(additional.entries === undefined ? {} : { additional: additional.entries }),
    },
    policy,
  );
}

function readAdditional(secret: V1Secret, published: Published | undefined): Source {
  const good = () => lastGood(published, "additional");
  if (secret.type !== secretType) {
    const problem = finding("wrongType", additionalSecretName, "type", secret.type ?? "missing");
    return { entries: good(), problems: [problem], present: true };
  }
  return read(secret, { name: "additional", role: "additional" }, good);
}

function readOriginal(secret: V1Secret | undefined, name: string, published: Published | undefined): Source {
  const good = () => lastGood(published, "original");
  // An original that vanished takes nothing away from the nodes: far more often that is an accident.
  if (secret === undefined)
    return { entries: good(), problems: [finding("originalMissing", "original", name)], present: false };
  return read(secret, { name: "original", role: "original" }, good);
}

function read(secret: V1Secret, source: { name: string; role: From }, good: () => Accepted | undefined): Source {
  const bytes = secret.data?.[secretKeys.document];
  if (bytes === undefined) {
    return {
      entries: good(),
      problems: [finding("noDocument", source.name, `data["${secretKeys.document}"]`)],
      present: true,
    };
  }
  const parsed = parse(Buffer.from(bytes, "base64"), source);
  return parsed.ok
    ? { entries: parsed, problems: [], present: true }
    : { entries: good(), problems: parsed.problems, present: true };
}

/** The entries of one source in what is published, perhaps none; undefined when nothing is published. */
function lastGood(published: Published | undefined, role: From): Accepted | undefined {
  if (published === undefined) return undefined;
  const parsed = parse(Buffer.from(published.document), { name: "global-pull-secret", role: "original" });
  if (!parsed.ok) return undefined;
  const entries = parsed.entries.filter(({ registry }) => published.sources[registry] === role);
  return { ok: true, entries, rest: role === "original" ? parsed.rest : {}, warnings: [] };
}

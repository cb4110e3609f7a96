/** Reads one source: its present document and its last accepted document. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { canonical } from "#pullsecret/merge/canonical.ts";
import { namespace, secretType } from "#contract/names.ts";
import { parse, type Accepted } from "#pullsecret/document/parse.ts";
import { isEmptied, judgeSecret, partsOf } from "#pullsecret/document/secret.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";
import type { Role } from "#pullsecret/problems/findings.ts";
import { finding, listOf } from "./problems.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import type { AdditionalInput, ExtraInput, SourceInput, OriginalInput } from "./input.ts";
import { suppliersIn, type Published } from "../objects/global-secret.ts";
import type { RememberedState } from "../objects/state.ts";

export type Supply = Readonly<{
  entries: Accepted | undefined;
  /** The document that the entries come from, or a document with the same meaning. */
  text: string | undefined;
  problems: readonly Problem[];
  /** The source should supply entries, even if it has no accepted document. */
  present: boolean;
}>;

/** `before`: the last accepted document. Undefined if there never was one. */
export type ReadSource = Readonly<{ now: Supply; before: Supply | undefined }>;

/** What a source without a document supplies. */
export const nothing: Supply = {
  entries: undefined,
  text: undefined,
  problems: [],
  present: false,
};

/** The records of accepted documents: the published Secret and the state. */
export type Remembered = Readonly<{ published: Published | undefined; state: RememberedState }>;

export function readSource(input: SourceInput, remembered: Remembered): ReadSource {
  switch (input.kind) {
    case "additional":
      return readAdditional(input, remembered);
    case "extra":
      return readExtra(input, remembered);
    case "original":
      return readOriginal(input, remembered);
  }
}

function readAdditional({ id, lookup, lost }: AdditionalInput, remembered: Remembered): ReadSource {
  if (lookup === "absent") return { now: nothing, before: undefined };
  const before = lastGood(remembered, id, "additional");
  if (lookup === "kept") return fallBack(before, true, ...shrinking(id, lost));
  return read(lookup, id, "additional", before, true);
}

function shrinking(id: string, lost: readonly string[] = []): readonly Problem[] {
  return lost.length === 0 ? [] : [finding("sourceShrinks", id, "auths", listOf(lost))];
}

/**
 * Reads an extra source. A source that was never valid supplies nothing, so it cannot block a
 * withdrawal.
 */
function readExtra({ id, secret, lookup, lost }: ExtraInput, remembered: Remembered): ReadSource {
  const name = secret.slice(secret.indexOf("/") + 1);
  if (lookup === "reserved")
    return {
      now: { ...nothing, problems: [finding("sourceReserved", id, "secretRef.name", name)] },
      before: undefined,
    };
  if (lookup === "absent")
    return {
      now: { ...nothing, problems: [finding("sourceMissing", id, secret)] },
      before: undefined,
    };
  const before = lastGood(remembered, id, "additional");
  const present = before !== undefined;
  if (lookup === "kept") return fallBack(before, present, ...shrinking(id, lost));
  if (lookup === "forbidden")
    return fallBack(before, present, finding("sourceForbidden", id, secret, grantFor(name)));
  if (lookup === "unknown") return fallBack(before, present, finding("sourceUnknown", id, secret));
  return read(lookup, id, "additional", before, present);
}

function readOriginal({ id, secret, lookup }: OriginalInput, remembered: Remembered): ReadSource {
  const before = lastGood(remembered, id, "original");
  if (lookup === "unknown")
    return fallBack(before, false, finding("originalUnknown", "original", secret));
  // A vanished or emptied original removes nothing from the nodes, because this is usually an
  // accident.
  const hadEntries = (before?.entries?.entries ?? []).length > 0;
  if (lookup === "absent" || (hadEntries && isEmptied({ ...partsOf(lookup), type: secretType })))
    return fallBack(before, false, finding("originalMissing", "original", secret));
  return read(lookup, id, "original", before, true);
}

/**
 * Uses the last accepted document instead of the current one. `isWanted`: the source should supply
 * entries even if there is no such document.
 */
function fallBack(
  before: Supply | undefined,
  isWanted: boolean,
  ...problems: readonly Problem[]
): ReadSource {
  return { now: { ...nothing, present: isWanted, ...before, problems }, before };
}

function read(
  secret: V1Secret,
  id: string,
  role: Role,
  before: Supply | undefined,
  isWanted: boolean,
): ReadSource {
  const parts = partsOf(secret);
  const judged = judgeSecret(parts, { name: id, role });
  if (!judged.ok) return fallBack(before, isWanted, ...judged.problems);
  const accepted = { text: Buffer.from(parts.document ?? []).toString("utf8"), accepted: judged };
  const text = toRemember(accepted, before, id, role);
  return { now: { entries: judged, text, problems: [], present: true }, before };
}

/**
 * The document to record: the whole text, or only the accepted entries if a later, more lenient
 * read of the text would also accept parts that are rejected now. If the new document has the same
 * meaning as the previous document and is not shorter, we keep the previous document. So rewriting
 * a Secret without changing its meaning costs no write, however often it happens.
 */
function toRemember(
  { text, accepted }: Readonly<{ text: string; accepted: Accepted }>,
  before: Supply | undefined,
  id: string,
  role: Role,
): string {
  const meant = canonical(accepted);
  const again = reread(text, id, role);
  const now = again !== undefined && canonical(again) === meant ? text : meant;
  if (before?.text === undefined || before.entries === undefined) return now;
  if (before.text.length > now.length) return now;
  return canonical(before.entries) === meant ? before.text : now;
}

/**
 * The registries of the last accepted document that the present document lacks, in any spelling, if
 * they are at least two and more than half. Empty for a source that is refused.
 */
export function mostlyLost(input: SourceInput, remembered: Remembered): readonly string[] {
  const { now, before } = readSource(input, remembered);
  const former = before?.entries?.entries ?? [];
  if (now.entries === undefined || now.problems.length > 0) return [];
  const present = new Set(now.entries.entries.map(({ registry }) => imagesOf(registry)));
  const lost = former.filter(({ registry }) => !present.has(imagesOf(registry)));
  return lost.length >= 2 && lost.length * 2 > former.length
    ? lost.map(({ registry }) => redactKey(registry))
    : [];
}

/**
 * The last accepted document of one source. Undefined if there never was one. If no document is
 * recorded, because someone deleted the state, the source's published entries count instead, so
 * that they do not leave the nodes. The caller records them.
 */
export function lastGood(
  { published, state }: Remembered,
  id: string,
  role: Role,
): Supply | undefined {
  const isLost = published !== undefined && Object.keys(state.accepted).length === 0;
  const record = Object.hasOwn(state.accepted, id) ? state.accepted[id] : undefined;
  const text = isLost ? publishedBy(published, id, role) : record;
  const entries = text === undefined ? undefined : reread(text, id, role);
  return entries && { entries, text, problems: [], present: true };
}

/**
 * The published part of one source as a document. Undefined if there is none. An entry that several
 * sources had counts only for the one whose label it has.
 */
function publishedBy(published: Published, id: string, role: Role): string | undefined {
  const all = reread(published.document, id, role);
  const suppliers = suppliersIn(published);
  const entries = (all?.entries ?? []).filter(({ registry }) => suppliers[registry] === id);
  const rest = all?.rest ?? {};
  const isNothing = entries.length === 0 && Object.keys(rest).length === 0;
  return isNothing ? undefined : canonical({ entries, rest });
}

/**
 * Reads a document by the lenient rules for an original. An accepted document must stay accepted
 * when a later version refuses more.
 */
function reread(text: string, id: string, role: Role): Accepted | undefined {
  const parsed = parse(Buffer.from(text), { name: id, role: "original" });
  if (!parsed.ok) return undefined;
  if (role === "original") return { ...parsed, warnings: [] };
  return { ...parsed, rest: {}, warnings: [] };
}

/** The controller's ServiceAccount, as in manifests/base. */
const account = "global-pull-secret-controller";

/**
 * The command that grants the right to read and watch only this Secret. The right is limited by
 * name, because an editor of GlobalPullSecret must not gain the right to read other Secrets.
 */
function grantFor(secretName: string): string {
  const role = `global-pull-secret-source-${secretName}`;
  const secrets = `--verb=get,list,watch --resource=secrets --resource-name=${secretName}`;
  return [
    `kubectl create role ${role} -n ${namespace} ${secrets}`,
    `kubectl create rolebinding ${role} -n ${namespace} --role=${role} --serviceaccount=${namespace}:${account}`,
  ].join(" && ");
}

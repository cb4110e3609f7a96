/** One source: what it says now, and what it said when it was last accepted. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { canonical } from "#pullsecret/canonical.ts";
import { isObject, readJson } from "#pullsecret/json.ts";
import { additionalSecretName, secretKeys, secretType } from "#contract/names.ts";
import { parse, type Accepted } from "#pullsecret/parse.ts";
import { problem, type Problem } from "#pullsecret/problems.ts";
import type { Role } from "#pullsecret/report.ts";
import { finding } from "./problems.ts";
import type { Published } from "../objects/global-secret.ts";
import type { State } from "../objects/state.ts";

/**
 * The additional Secret. `kept`: it is absent, but not for long enough: its last accepted document
 * stays in force.
 */
export type Additional = V1Secret | "kept" | undefined;

/**
 * The original Secret. `unknown`: its API server gives no answer, so nobody can say whether there
 * is one.
 */
export type Original = V1Secret | "absent" | "unknown";

export type Source = Readonly<{
  entries: Accepted | undefined;
  /** The document that the entries come from. */
  text: string | undefined;
  problems: readonly Problem[];
  /** Somebody asks for its entries. */
  present: boolean;
}>;

/** `before`: its last accepted document; undefined when it never had one. */
export type Read = Readonly<{ now: Source; before: Source | undefined }>;

type Given = Readonly<{
  additional: Additional;
  original: Original;
  originalName: string | undefined;
  published: Published | undefined;
  state: State;
}>;

const none: Source = { entries: undefined, text: undefined, problems: [], present: false };

export function readAdditional({ additional, ...given }: Given): Read {
  if (additional === undefined) return { now: none, before: undefined };
  const before = lastGood(given, "additional");
  const instead = (...problems: Problem[]): Read => ({
    now: { ...(before ?? none), problems, present: true },
    before,
  });
  if (additional === "kept") return instead();
  if (additional.type !== secretType)
    return instead(
      finding("wrongType", additionalSecretName, "type", additional.type ?? "missing"),
    );
  return read(additional, "additional", before);
}

export function readOriginal({ original, originalName, ...given }: Given): Read {
  if (originalName === undefined) return { now: none, before: undefined };
  const before = lastGood(given, "original");
  const instead = (problem: Problem): Read => ({
    now: { ...(before ?? none), problems: [problem] },
    before,
  });
  if (original === "unknown") return instead(finding("originalUnknown", "original", originalName));
  // An original that vanished takes nothing away from the nodes: far more often that is an
  // accident.
  if (original === "absent") return instead(finding("originalMissing", "original", originalName));
  return read(original, "original", before);
}

function read(secret: V1Secret, role: Role, before: Source | undefined): Read {
  const refused = (problems: readonly Problem[]): Read => ({
    now: { ...(before ?? none), problems, present: true },
    before,
  });
  const value = secret.data?.[secretKeys.document];
  if (value === undefined)
    return refused([finding("noDocument", role, `data["${secretKeys.document}"]`)]);
  const bytes = Buffer.from(value, "base64");
  const parsed = parse(bytes, { name: role, role });
  if (!parsed.ok) return refused(parsed.problems);
  // The kubelet reads such a file as one without credentials; its author hardly meant to remove
  // them all.
  if (role === "original" && !hasAuths(bytes))
    return refused([problem("noAuths", "original", "auths")]);
  // A credential helper's file: entries without credentials, which the kubelet would try all the
  // same.
  if (role === "original" && parsed.entries.length > 0 && parsed.entries.every(isEmpty))
    return refused([problem("nothingLeft", "original", "auths")]);
  return {
    now: { entries: parsed, text: bytes.toString("utf8"), problems: [], present: true },
    before,
  };
}

const isEmpty = ({ credential }: Accepted["entries"][number]) =>
  credential.username === "" && credential.password === "";

/**
 * `{"auths":{}}` says that there are none. `null`, `{}`, `{"auths":null}` and Docker's oldest form,
 * without `auths`, say nothing.
 */
function hasAuths(bytes: Uint8Array): boolean {
  const read = readJson(bytes);
  return read.ok && isObject(read.value) && isObject(read.value["auths"] ?? null);
}

type Known = Readonly<{ published: Published | undefined; state: State }>;

/** The last accepted document of one source; undefined when it never had one. */
function lastGood({ published, state }: Known, role: Role): Source | undefined {
  const text = state.accepted[role];
  const kept = text === undefined ? undefined : reread(text, role);
  if (kept !== undefined) return { entries: kept, text, problems: [], present: true };
  if (published === undefined) return undefined;
  // An installation without this memory: of what is published, the entries that are labelled as
  // this source's. What both sources agreed on is labelled the original's, so this is not exact;
  // and it is done once, for its outcome is remembered.
  const all = reread(published.document, "original");
  if (all === undefined) return undefined;
  const ours = all.entries.filter(({ registry }) => published.sources[registry] === role);
  const entries = { ...all, entries: ours, rest: role === "original" ? all.rest : {} };
  return {
    entries,
    text: canonical(entries),
    problems: [],
    present: true,
  };
}

/**
 * Leniently, as an original is read: what was accepted once stays so when we learn to refuse more.
 */
function reread(text: string, role: Role): Accepted | undefined {
  const parsed = parse(Buffer.from(text), { name: role, role: "original" });
  if (!parsed.ok) return undefined;
  return { ...parsed, rest: role === "original" ? parsed.rest : {}, warnings: [] };
}

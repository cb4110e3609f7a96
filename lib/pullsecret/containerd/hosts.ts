/**
 * Our lines in hosts.toml: the credential of an endpoint, as its header Authorization. Pure.
 *
 * Each line of ours ends with a mark. So the file of the other programs is always the file without
 * our lines, byte for byte, whatever they changed meanwhile, and even without a journal. A result is
 * used only if containerd reads it as the other programs' document with our headers.
 */
import { isDeepStrictEqual } from "node:util";
import { type Endpoint, endpointsOf, registryAt, serverOf } from "./endpoints.ts";
import { isTable, readToml, type TomlTable } from "./toml.ts";

/** Registry → `auth`: base64 of user:password. */
export type Credentials = ReadonlyMap<string, string>;

const mark = "# global-pull-secret: ";
const ours = /^.*# global-pull-secret: ([^\n]*)$/;
const authorization = /"Basic ([A-Za-z0-9+/]+=*)" # global-pull-secret: (\S+)$/;
const explanation = "# Do not edit lines that end with this mark.";

/**
 * What was there before us: the mode of the file, or that the file, or also its directory, did not
 * exist.
 */
export type Origin = Readonly<{ mode: number }> | "no file" | "no directory";

/** A file, taken apart: the other programs' bytes, our credentials, and what was there before. */
export type Parted = Readonly<{
  theirs: Buffer;
  credentials: Credentials;
  origin: Origin | undefined;
}>;

/** Takes our lines out of a file. Works for any bytes. */
export function parted(bytes: Buffer): Parted {
  const text = bytes.toString("latin1");
  const credentials = new Map<string, string>();
  let origin: Origin | undefined;
  if (!text.includes(mark)) return { theirs: bytes, credentials, origin };
  const lines = text.split("\n");
  const kept = lines.filter((line) => {
    const note = ours.exec(line)?.[1];
    if (note === undefined) return true;
    const [, auth, registry] = authorization.exec(line) ?? [];
    if (auth !== undefined && registry !== undefined) credentials.set(registry, auth);
    else origin = originOf(note) ?? origin;
    return false;
  });
  return { theirs: Buffer.from(kept.join("\n"), "latin1"), credentials, origin };
}

function originOf(note: string): Origin | undefined {
  if (note === "no file" || note === "no directory") return note;
  return /^[0-7]{1,4}$/.test(note) ? { mode: Number.parseInt(note, 8) } : undefined;
}

/**
 * `bytes`: the file with our lines. `served`: the registry of the file has its credential in it.
 * `why`: why our lines cannot be in this file.
 */
export type Put =
  | Readonly<{ bytes: Buffer; served: boolean; why?: string }>
  | Readonly<{ why: string }>;

/**
 * Puts the credentials of the endpoints into the file of `registry` (undefined: the default of all
 * registries). The server gets the credential of the registry, because the owner of the node declares
 * it to be the registry. Any other endpoint gets the credential of its own host. `theirs` is empty if
 * there is no file.
 */
export function put(
  theirs: Buffer,
  registry: string | undefined,
  credentials: Credentials,
  origin: Origin,
): Put {
  const document = readToml(theirs);
  if (document === undefined) return { why: "it is not TOML" };
  const endpoints = endpointsOf(document);
  if (typeof endpoints === "string") return { why: endpoints };
  const chosen = endpoints.flatMap((endpoint) => {
    const named = registryFor(endpoint, endpoints[0], registry, credentials);
    const auth = named === undefined ? undefined : credentials.get(named);
    return named === undefined || auth === undefined ? [] : [{ endpoint, registry: named, auth }];
  });
  const free = chosen.filter(({ endpoint }) => !endpoint.hasAuthorization);
  const own = chosen.filter((choice) => choice.registry === registry);
  const isTaken = own.some(({ endpoint }) => endpoint.hasAuthorization);
  const mine = isTaken ? free.filter((choice) => choice.registry !== registry) : free;
  const why = isTaken ? { why: "it has an Authorization of another program" } : {};
  if (mine.length === 0) return { bytes: theirs, served: false, ...why };
  const bytes = withLines(theirs, mine, origin);
  if (bytes === undefined || !isDeepStrictEqual(readToml(bytes), withHeaders(document, mine)))
    return { why: "its tables are written in an unusual form" };
  return { bytes, served: own.length > 0 && !isTaken, ...why };
}

type Choice = Readonly<{ endpoint: Endpoint; registry: string; auth: string }>;

function registryFor(
  { host, table }: Endpoint,
  server: Endpoint | undefined,
  registry: string | undefined,
  credentials: Credentials,
): string | undefined {
  const main = server?.host ?? (registry && serverOf(registry));
  const at = host ?? (table === undefined ? main : undefined);
  if (at === undefined) return undefined;
  if (at === main && registry !== undefined && credentials.has(registry)) return registry;
  return registryAt(at);
}

/** A header of a table: `[host."https://a.io"]` or `[host."https://a.io".header]` or `[header]`. */
const tableLine =
  /^\s*\[\s*(?:host\s*\.\s*(?:"([^"\\]*)"|'([^']*)'|([\w-]+))\s*(\.\s*header\s*)?|(header)\s*)\]\s*(?:#.*)?$/;

/** The file with a line for each choice; undefined if an endpoint has no place for one. */
function withLines(theirs: Buffer, choices: readonly Choice[], origin: Origin): Buffer | undefined {
  const lines = theirs.toString("latin1").split("\n");
  /** Table → the line of its header, and whether it is the table of its headers. */
  const places = new Map<string | undefined, Readonly<{ at: number; isHeaders: boolean }>>();
  places.set(undefined, { at: -1, isHeaders: false });
  for (const [at, line] of lines.entries()) {
    const [matched, double, single, bare, sub, top] = tableLine.exec(line) ?? [];
    if (matched === undefined) continue;
    const isHeaders = sub !== undefined || top !== undefined;
    const table = top === undefined ? (double ?? single ?? bare) : undefined;
    if (isHeaders || !places.has(table)) places.set(table, { at, isHeaders });
  }
  const inserted = Map.groupBy(choices, ({ endpoint }) => places.get(endpoint.table)?.at);
  if (inserted.has(undefined)) return undefined;
  const linesAt = (at: number) =>
    (inserted.get(at) ?? []).map(({ endpoint, registry, auth }) => {
      const name = places.get(endpoint.table)?.isHeaders ? "" : "header.";
      return `${name}Authorization = "Basic ${auth}" ${mark}${registry}`;
    });
  const note = typeof origin === "string" ? origin : origin.mode.toString(8);
  const all = [
    `${explanation} ${mark}${note}`,
    ...linesAt(-1),
    ...lines.flatMap((line, at) => [line, ...linesAt(at)]),
  ];
  return Buffer.from(all.join("\n"), "latin1");
}

/** The document that containerd must read. */
function withHeaders(document: TomlTable, choices: readonly Choice[]): TomlTable {
  return choices.reduce((before, { endpoint: { table }, auth }) => {
    const added = (fields: TomlTable) => ({
      ...fields,
      header: { ...(fields["header"] as object), Authorization: `Basic ${auth}` },
    });
    if (table === undefined) return added(before);
    const mirrors = before["host"];
    const fields = isTable(mirrors) ? mirrors[table] : undefined;
    return { ...before, host: { ...(mirrors as object), [table]: added(fields as TomlTable) } };
  }, document);
}

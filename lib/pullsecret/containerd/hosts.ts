/**
 * Our lines in hosts.toml: the credential of an endpoint, as its header Authorization. Pure.
 *
 * The server itself, which containerd asks last, never gets a header: it is asked without a
 * credential, so a denied credential does not break pulls of public images. Before it, containerd
 * asks the same address with the credential, in a table of its own.
 *
 * Each line of ours ends with a mark. So the file of the other programs is always the file without
 * our lines, byte for byte, whatever they changed meanwhile, and even without a journal. A result
 * is used only if containerd reads it as the other programs' document with our headers.
 */
import { isDeepStrictEqual } from "node:util";
import { addressOf, copied, endpointsOf, isSameAddress, registryAt } from "./endpoints.ts";
import { isTable, readToml, type TomlTable } from "./toml.ts";

/** Registry → `auth`: base64 of user:password. */
export type Credentials = ReadonlyMap<string, string>;

const mark = "# global-pull-secret: ";
const ours = /^.*# global-pull-secret: ([^\r\n]*)\r?$/;
const authorization = /"Basic ([A-Za-z0-9+/]+=*)" # global-pull-secret: (\S+)\r?$/;
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

/** Whether a line of ours is anywhere in the bytes. */
export function hasMark(bytes: Buffer): boolean {
  return bytes.includes(mark);
}

/** Takes our lines out of a file. Works for any bytes. */
export function parted(bytes: Buffer): Parted {
  const text = bytes.toString("latin1");
  const credentials = new Map<string, string>();
  let origin: Origin | undefined;
  if (!hasMark(bytes)) return { theirs: bytes, credentials, origin };
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
 * registries). The server's address gets the credential of the registry, because the owner of the
 * node declares it to be the registry. Any other endpoint gets the credential of its own host.
 * `theirs` is empty if there is no file.
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
  const own = registry === undefined ? undefined : credentials.get(registry);
  const address = addressOf(document, registry);
  const [server, ...mirrors] = endpoints;
  const same = mirrors.filter(
    ({ table }) => table !== undefined && address !== undefined && isSameAddress(table, address),
  );
  if (own !== undefined && same.some(({ canPull }) => !canPull))
    return { why: "it does not pull from the server's own table" };
  const isTaken =
    own !== undefined && [server, ...same].some((endpoint) => endpoint?.hasAuthorization);
  const choices = mirrors.flatMap((mirror): Choice[] => {
    const { table = "", host = "", hasAuthorization } = mirror;
    const isMain = own !== undefined && same.includes(mirror);
    const named = isMain ? registry : registryAt(host);
    const auth = named === undefined ? undefined : credentials.get(named);
    if (auth === undefined || named === undefined || hasAuthorization) return [];
    return isMain && isTaken ? [] : [{ table, registry: named, auth }];
  });
  if (own !== undefined && registry && address !== undefined && !isTaken && same.length === 0)
    choices.push({ table: address, registry, auth: own, added: copied(document, registry) });
  const why = isTaken ? { why: "it has an Authorization of another program" } : {};
  if (choices.length === 0) return { bytes: theirs, served: false, ...why };
  const bytes = withLines(theirs, choices, origin);
  if (bytes === undefined || !isDeepStrictEqual(readToml(bytes), withHeaders(document, choices)))
    return { why: "its tables are written in an unusual form" };
  return { bytes, served: own !== undefined && !isTaken, ...why };
}

/** A table below `host` that gets a credential. `added`: the fields of a table that we add. */
type Choice = Readonly<{ table: string; registry: string; auth: string; added?: TomlTable }>;

/** The header of a table: `[host."https://a.io"]` or `[host."https://a.io".header]`. */
const tableLine =
  /^\s*\[\s*host\s*\.\s*(?:"([^"\\]*)"|'([^']*)'|([\w-]+))\s*(\.\s*header\s*)?\]\s*(?:#.*)?$/;

/** The file with our lines; undefined if a table has no place for one. */
function withLines(theirs: Buffer, choices: readonly Choice[], origin: Origin): Buffer | undefined {
  const lines = theirs.toString("latin1").split("\n");
  /** Table → the line of its header, and whether it is the table of its headers. */
  const places = new Map<string, Readonly<{ at: number; isHeaders: boolean }>>();
  for (const [at, line] of lines.entries()) {
    const [matched, double, single, bare, sub] = tableLine.exec(line) ?? [];
    const table = double ?? single ?? bare;
    if (matched === undefined || table === undefined) continue;
    if (sub !== undefined || !places.has(table))
      places.set(table, { at, isHeaders: sub !== undefined });
  }
  // Our tables come after all others. A last line without a line break stays the last one.
  const end = lines.at(-1) === "" ? lines.length - 2 : lines.length - 1;
  const inserted = Map.groupBy(choices, ({ table, added }) =>
    added ? end : places.get(table)?.at,
  );
  if (inserted.has(undefined)) return undefined;
  const linesAt = (at: number) =>
    (inserted.get(at) ?? []).flatMap((choice) =>
      linesOf(choice, places.get(choice.table)?.isHeaders === true),
    );
  const note = typeof origin === "string" ? origin : origin.mode.toString(8);
  // Some programs recognise their files by the first line.
  const oursAt = (at: number) => [
    ...linesAt(at),
    ...(at === end ? [`${explanation} ${mark}${note}`] : []),
  ];
  const all = [...oursAt(-1), ...lines.flatMap((line, at) => [line].concat(oursAt(at)))];
  return Buffer.from(all.join("\n"), "latin1");
}

function linesOf({ table, registry, auth, added }: Choice, isHeaders: boolean): string[] {
  const { header = {}, ...fields } = added ?? {};
  const lines = [
    ...(added ? [`[host.${JSON.stringify(table)}]`] : []),
    ...Object.entries(fields).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
    ...Object.entries(header as TomlTable).map(
      ([name, value]) => `header.${JSON.stringify(name)} = ${JSON.stringify(value)}`,
    ),
    `${isHeaders ? "" : "header."}Authorization = "Basic ${auth}"`,
  ];
  return lines.map((line) => Buffer.from(`${line} ${mark}${registry}`).toString("latin1"));
}

/** The document that containerd must read. */
function withHeaders(document: TomlTable, choices: readonly Choice[]): TomlTable {
  const mirrors = isTable(document["host"]) ? document["host"] : {};
  const tables = choices.map(({ table, auth, added }) => {
    const fields = (added ?? mirrors[table]) as TomlTable;
    const header = Object.assign({}, fields["header"], { Authorization: `Basic ${auth}` });
    return [table, Object.assign({}, fields, { header })] as const;
  });
  return { ...document, host: { ...mirrors, ...Object.fromEntries(tables) } };
}

/**
 * config.json as the histories write and read it. An entry's credential is a word: `t7` belongs to
 * another program, `o7` to us, `oX7` is ours and stops a kubelet, and `!t7` cannot be read by a
 * kubelet. No code of the product.
 */
export type Entries = ReadonlyMap<string, string>;
export type NodeFile = Readonly<{ bytes: string; mode: number }> | undefined;
/** `rest`: the other top-level keys. */
export type Parts = Readonly<{ auths: Entries; rest: Entries }>;

export const none: Entries = new Map();
export const noParts: Parts = { auths: none, rest: none };

/** One such entry makes the kubelet ignore the whole file. */
export const isBad = (word: string) => word.startsWith("!");
/** One such word stops a kubelet. */
export const isDeadly = (entries: Entries) =>
  [...entries.values()].some((word) => word.startsWith("oX"));
export const isOurs = (word: string) => word.startsWith("o");

function authOf(word: string): string {
  return isBad(word) ? word : Buffer.from(`user:${word}`).toString("base64");
}

export function entryOf(word: string): object {
  return { auth: authOf(word) };
}

function wordOf(entry: unknown): string {
  const { auth = "" } = entry as { auth?: string };
  return isBad(auth) ? auth : Buffer.from(auth, "base64").toString().slice(5);
}

/** The parts of a file; undefined if there is none, or if it cannot be read. */
export function partsOf(file: NodeFile): Parts | undefined {
  try {
    const { auths = {}, ...rest } = JSON.parse(file?.bytes ?? "") as Record<string, object>;
    const words = Object.entries(auths).map(([key, entry]) => [key, wordOf(entry)] as const);
    return { auths: new Map(words), rest: new Map(Object.entries(rest).map(asText)) };
  } catch {
    return undefined;
  }
}

const asText = ([key, value]: readonly [string, unknown]) => [key, String(value)] as const;

export function auths(file: NodeFile): Entries {
  return partsOf(file)?.auths ?? none;
}

export function bytesOf({ auths: words, rest }: Parts, indent: boolean): string {
  const entries = [...words].map(([key, word]) => [key, entryOf(word)]);
  const top = { auths: Object.fromEntries(entries) as object, ...Object.fromEntries(rest) };
  return JSON.stringify(top, undefined, indent ? 2 : undefined);
}

/** The file after a change of its parts. A new file has mode 0600. */
export function edited(
  file: NodeFile,
  indent: boolean,
  change: (auths: Map<string, string>, rest: Map<string, string>) => void,
): NonNullable<NodeFile> {
  const { auths: words, rest } = partsOf(file) ?? noParts;
  const next = { auths: new Map(words), rest: new Map(rest) };
  change(next.auths, next.rest);
  return { bytes: bytesOf(next, indent), mode: file?.mode ?? 0o600 };
}

/** The images that a registry serves, as far as these histories need it. */
export function imagesOf(key: string): string {
  const bare = key.replace(/^https?:\/\//, "").replace(/\/v[12]\/$/, "");
  return bare === "index.docker.io" ? "docker.io" : bare;
}

export function serves(entries: Entries, key: string): boolean {
  return [...entries.keys()].some((other) => imagesOf(other) === imagesOf(key));
}

export const textOf = (entries: Entries): string =>
  JSON.stringify([...entries].toSorted(([key], [other]) => key.localeCompare(other)));

export function areSame(parts: Parts, other: Parts): boolean {
  return textOf(parts.auths) === textOf(other.auths) && textOf(parts.rest) === textOf(other.rest);
}

/** The words in bytes that need not be a document. */
export function wordsIn(bytes: string): string[] {
  return Array.from(bytes.matchAll(/"auth":\s*"([\w+/=]+)"/g), ([, auth]) => wordOf({ auth }));
}

/** Whether the bytes contain the credential. */
export function contains(bytes: string, word: string): boolean {
  const auth = authOf(word);
  for (let at = bytes.indexOf(auth); at >= 0; at = bytes.indexOf(auth, at + 1))
    if (!/[\w+/=]/.test(bytes[at + auth.length] ?? "")) return true;
  return false;
}

/** Looks for credentials that leave in bytes that nobody can parse. Pure. */
import type { Content, Entry, Journal } from "./journal.ts";

/** Whether the bytes contain a credential that `former` has, and `next` does not have. */
export function containsLeaving(bytes: Buffer, former: Journal, next: Journal): boolean {
  const staying = new Set(credentialsIn(next));
  const leaving = credentialsIn(former).filter((credential) => !staying.has(credential));
  const text = unescaped(bytes.toString());
  return leaving.some((credential) => text.includes(credential));
}

/** JSON has several spellings of one text. */
function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([\da-f]{4})|([/"\\]))/gi, (_, code?: string, character = "") =>
    code === undefined ? character : String.fromCodePoint(Number.parseInt(code, 16)),
  );
}

function credentialsIn(journal: Journal): string[] {
  const contents: readonly Content[] =
    journal.phase === "restarting" ? [journal.content, journal.back] : [journal.content];
  return contents.flatMap(({ entries }) => entries.flatMap(credentialsOf));
}

/** The texts by which a file has the credential: as `auth`, or as a value of its own. */
function credentialsOf({ raw }: Entry): string[] {
  const fields = Object.entries((JSON.parse(raw) ?? {}) as Record<string, unknown>);
  return fields.flatMap(([name, value]) => {
    if (typeof value !== "string" || value === "" || noCredentials.has(name)) return [];
    if (name !== "auth") return [`"${value}`];
    const decoded = Buffer.from(value, "base64").toString();
    const password = decoded.slice(decoded.indexOf(":") + 1);
    return password === "" ? [value] : [value, `"${password}`];
  });
}

const noCredentials: ReadonlySet<string> = new Set(["username", "email"]);

/**
 * Random files: valid files, nearly valid files, and files that JSON parsers read in different
 * ways.
 */
import { Buffer } from "node:buffer";
import { words, type Random } from "../random.ts";
import { randomKey } from "./references.ts";

/** A name, and its value as JSON. */
type Member = readonly [name: string, value: string];

const plains = [
  "",
  ...words("u:p u: :p : nocolon u:p:q us:pa user:pässword a:\u0000 \n:x x:y x:z"),
];

/** Possible values of `auth`: mostly base64 of something, sometimes damaged. */
function randomAuth(random: Random): string {
  const raw = random.once(8)
    ? Buffer.from([117, 58, random.below(256), random.below(256)])
    : Buffer.from(random.pick(plains));
  let text = raw.toString(random.once(20) ? "base64url" : "base64");
  if (random.once(6)) text = text.replaceAll("=", "");
  if (!random.once(12)) return text;
  const at = random.below(text.length + 1);
  return (
    text.slice(0, at) +
    random.pick(["\n", "\r\n", " ", "\t", "=", "A", "-", "\u0000", "\ufffd", "\\"]) +
    text.slice(at)
  );
}

const odd: readonly string[] = [
  "null",
  "5",
  "true",
  "[]",
  "{}",
  '"x"',
  '""',
  "1e999",
  "[[]]",
  '{"a":1}',
];
const headers = [...odd, '{"a":"b"}', '{"a":null}'];
const fields = words(
  "auth username password email Auth USERNAME pa\u017f\u017fword identitytoken x __proto__",
);

/** u:p, v:q and w:r in base64. */
const goodAuths = words("dTpw djpx dzpy");

function randomEntry(random: Random): string {
  if (random.once(60)) return random.pick(odd);
  if (random.once(2)) return object(random, [["auth", quote(random, random.pick(goodAuths))]]);
  if (random.once(2)) return object(random, [["auth", quote(random, randomAuth(random))]]);
  const members = random.list(4, () => {
    const name = random.pick(fields);
    if (random.once(30)) return [name, random.pick(odd)] as const;
    return [
      name,
      quote(random, /auth/i.test(name) ? randomAuth(random) : random.pick(plains)),
    ] as const;
  });
  return object(random, members);
}

/**
 * A complete file. It is small, because combinations of parts matter more than the number of parts.
 */
export function randomFile(random: Random): Buffer {
  if (random.once(100)) return Buffer.from(random.pick([...odd, ""]));
  const name = random.once(12) ? random.pick(words("AUTHS auth\u017f Auths")) : "auths";
  const members: Member[] = [[name, random.once(30) ? random.pick(odd) : randomAuths(random)]];
  if (random.once(8))
    members.push(["auths", random.once(4) ? random.pick(odd) : randomAuths(random)]);
  if (random.once(8))
    members.push([random.pick(words("HttpHeaders httpheader\u017f")), random.pick(headers)]);
  if (random.once(8))
    members.push([random.pick(words("credHelpers x __proto__")), random.pick(odd)]);
  return spoil(random, Buffer.from(object(random, members)));
}

function randomAuths(random: Random): string {
  const members = random.list(8, () => [randomKey(random), randomEntry(random)] as const);
  return object(random, members);
}

/**
 * Incomplete characters, an overlong NUL, a surrogate, a byte order mark, a comma, a line break, a
 * NUL.
 */
const badBytes = words("ff e282 f09f98 c080 eda080 efbbbf 2c 0a 00");

/** Sometimes damages the bytes: inserts bad bytes, or replaces one byte by bad bytes. */
function spoil(random: Random, bytes: Buffer): Buffer {
  if (!random.once(16)) return bytes;
  const at = random.below(bytes.length + 1);
  const bad = Buffer.from(random.pick(badBytes), "hex");
  const skip = random.below(2);
  return Buffer.concat([bytes.subarray(0, at), bad, bytes.subarray(at + skip)]);
}

function object(random: Random, members: readonly Member[]): string {
  const gap = (): string => (random.once(20) ? random.pick([" ", "\n", "\t\r\n"]) : "");
  const written = members.map(
    ([name, value]) => `${gap()}${quote(random, name)}${gap()}:${gap()}${value}${gap()}`,
  );
  return `{${written.join(",")}${gap()}}`;
}

const escapes = words("\\ud800 \\udc00x \\ud83d\\ude00 \\/ \\x \\u12");

/** A string as JSON, sometimes with unnecessary escapes, or with half a surrogate pair. */
function quote(random: Random, text: string): string {
  const plain = JSON.stringify(text);
  if (random.once(60)) return `${plain.slice(0, -1)}${random.pick(escapes)}"`;
  if (!random.once(30)) return plain;
  return `"${Array.from(text, (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`).join("")}"`;
}

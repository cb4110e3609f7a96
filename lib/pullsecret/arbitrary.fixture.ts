/** For tests: random pull secrets that parse() accepts, and texts that it mostly refuses. */
import { Buffer } from "node:buffer";
import fc from "fast-check";
import type { Json } from "./json/json.ts";
import type { MergeSource } from "./merge/offer.ts";
import { parse, type Accepted } from "./document/parse.ts";

/** Code points that are half of a surrogate pair; no valid text contains half a pair. */
const halves = { first: 0xd800, count: 0x800 };

/**
 * Any character, for `fc.string({ unit: character })`. It gives the same characters as fast-check's
 * unit "binary". But at each use, "binary" fills a map with a million characters, which takes half
 * a second.
 */
export const character: fc.Arbitrary<string> = fc.nat(0x10ffff - halves.count).map(
  (n) => String.fromCodePoint(n < halves.first ? n : n + halves.count),
  (char) => {
    const n = typeof char === "string" ? (char.codePointAt(0) ?? -1) : -1;
    if (n < 0 || char !== String.fromCodePoint(n)) throw new Error("not one character");
    return n < halves.first ? n : n - halves.count;
  },
);

const part = fc.stringMatching(/^[a-z0-9]{1,6}$/);

/** Few hosts, so that sources often have the same host. */
export const registryKey: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom("", "", "https://", "http://"),
    fc.oneof(
      fc.constantFrom(
        "a.io",
        "quay.io",
        "*.io",
        "docker.io",
        "index.docker.io",
        "localhost",
        "a*.io",
        "*.a.io",
        "x.a.io",
      ),
      part.map((name) => `${name}.example.com`),
    ),
    fc.constantFrom("", "", ":5000", ":443"),
    fc.oneof(
      fc.constantFrom(
        "",
        "/",
        "/v1/",
        "/v2/",
        "/v1",
        "/v1/access-token",
        "/foo",
        "/foo/bar",
        "/v1/foo",
      ),
      part.map((name) => `/${name}`),
    ),
  )
  .map((parts) => parts.join(""));

/** A random user name without a colon, and a random password. */
const credential = fc.record({
  username: fc.stringMatching(/^[a-z][a-zA-Z0-9äß€ -]{0,8}[a-z]$/),
  password: fc.oneof(
    fc.stringMatching(/^[!-~]{1,30}$/),
    fc.string({ unit: character, maxLength: 20 }),
  ),
});

const entry = fc.oneof(
  {
    weight: 5,
    arbitrary: credential.map(({ username, password }) => ({
      auth: Buffer.from(`${username}:${password}`).toString("base64"),
    })),
  },
  { weight: 5, arbitrary: credential },
  { weight: 1, arbitrary: fc.constantFrom({}, { identitytoken: "t\u20ac\u0001" }, { email: "e" }) },
);

const otherKeys = fc.dictionary(
  fc.constantFrom("credsStore", "x", "constructor", "10", "2"),
  fc.jsonValue({ maxDepth: 3 }),
);

/** The text of a document that is usually accepted. */
export const documentText: fc.Arbitrary<string> = fc
  .tuple(
    fc.dictionary(registryKey, entry, { maxKeys: 6 }),
    otherKeys,
    fc.constantFrom(undefined, 2, "\t"),
  )
  .map(([auths, rest, space]) => JSON.stringify({ ...rest, auths }, null, space));

/** An accepted source. */
export function accepted(role: "original" | "additional"): fc.Arbitrary<Accepted> {
  return documentText
    .map((text) => parse(Buffer.from(text), { name: role, role }))
    .filter((parsed): parsed is Accepted => parsed.ok);
}

/** A source of few registries and fewer credentials, so that sources often agree or conflict. */
function crowded(role: "original" | "additional"): fc.Arbitrary<Accepted> {
  const registry = fc.constantFrom(
    "a.io",
    "https://a.io/v1/",
    "a.io/foo",
    "a.io/foo/bar",
    "x.a.io",
    "*.io",
    "docker.*",
    "quay.io",
    "docker.io",
    "index.docker.io",
    "https://index.docker.io/v1/",
    "docker.io/foo",
    // Only an original is allowed to have several credentials for one registry.
    ...(role === "original" ? ["https://a.io", "https://docker.io"] : []),
  );
  const pair = fc.constantFrom("u:1", "u:2").map((text) => ({ auth: btoa(text) }));
  return fc
    .dictionary(registry, pair, { maxKeys: role === "original" ? 6 : 4 })
    .map((auths) => parse(Buffer.from(JSON.stringify({ auths })), { name: role, role }))
    .filter((parsed): parsed is Accepted => parsed.ok);
}

/** An additional source, up to three extra sources and an original, the highest first. */
export const ranked: fc.Arbitrary<readonly MergeSource[]> = fc
  .tuple(
    crowded("additional"),
    fc.array(crowded("additional"), { maxLength: 3 }),
    fc.oneof(crowded("original"), accepted("original")),
  )
  .map(([additional, extras, original]) =>
    [
      { id: "additional", accepted: additional },
      extras.map((extra, index) => renamed(`team-${index}`, extra)),
      { id: "original", accepted: original },
    ].flat(),
  );

function renamed(id: string, { warnings, ...rest }: Accepted): MergeSource {
  return {
    id,
    accepted: { ...rest, warnings: warnings.map((warning) => ({ ...warning, source: id })) },
  };
}

/**
 * Up to three sources with one of two credentials for a registry, above an original that has both
 * credentials.
 */
export const twinned: fc.Arbitrary<readonly MergeSource[]> = fc
  .tuple(
    fc.constantFrom("a.io", "docker.io", "https://index.docker.io/v1/"),
    fc.array(fc.constantFrom("u:1", "u:2"), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("a.io", "docker.io", "index.docker.io"),
  )
  .map(([registry, pairs, host]) => {
    const originals = { [host]: "u:1", [`https://${host}`]: "u:2" };
    return [...pairs.map((pair) => ({ [registry]: pair })), originals].map((keys, at, all) => {
      const role = at < all.length - 1 ? "additional" : "original";
      const auths = Object.fromEntries(
        Object.entries(keys).map(([key, text]) => [key, { auth: btoa(text) }]),
      );
      const accepted = parse(Buffer.from(JSON.stringify({ auths })), { name: role, role });
      if (!accepted.ok) throw new Error("a twin is refused");
      return { id: role === "original" ? role : `team-${at}`, accepted };
    });
  });

/** The same document in another order and with other white space. */
export function reordered(value: Json): string {
  if (Array.isArray(value)) return `[ ${value.map((item) => reordered(item)).join(" ,\n")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(
    ([name, item]) => `\t${JSON.stringify(name)} :${reordered(item)}`,
  );
  return `{${members.toReversed().join("\r\n,")}}`;
}

/** The bytes of a good document after random removals and insertions; or any bytes. */
export const spoiledBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc
    .tuple(
      documentText,
      fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.uint8Array({ maxLength: 3 })), { maxLength: 3 }),
    )
    .map(([text, changes]) => {
      let bytes = Buffer.from(text);
      for (const [where, lost, added] of changes) {
        const at = where % (bytes.length + 1);
        bytes = Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + lost)]);
      }
      return bytes;
    }),
);

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkedContent, type SyncContent } from "./content.ts";

const encode = (text: string) => Buffer.from(text).toString("base64");

test("L12: merges stringData into data as in a Secret, with priority for stringData", () => {
  const judged = checkedContent({
    data: { a: encode("1"), b: encode("2") },
    stringData: { b: "ü", ["__proto__"]: "3" },
  });
  assert.ok(judged.ok);
  const expected = Object.fromEntries([
    ["a", encode("1")],
    ["b", encode("ü")],
    ["__proto__", encode("3")],
  ]);
  assert.deepEqual(judged.content.data, expected);
  assert.equal(judged.content.type, "Opaque");
});

test("drops base64 bits after the last byte, like the API server", () => {
  const judged = checkedContent({ data: { a: "eB==", b: "eHj=", c: "eA==" } });
  assert.deepEqual(judged.ok && judged.content.data, { a: "eA==", b: "eHg=", c: "eA==" });
});

const keys = (letter: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${letter}${at}`, ""]));

test("accepts content at its limits: 64 keys in both maps together, 262144 bytes", () => {
  assert.ok(checkedContent({ data: keys("d", 32), stringData: keys("s", 32) }).ok);
  assert.ok(checkedContent({ data: keys("k", 64), stringData: keys("k", 64) }).ok, "the same keys");
  assert.ok(checkedContent({ stringData: { [`.a-_${"K".repeat(249)}`]: "" } }).ok);
  assert.ok(checkedContent({ stringData: { a: `${"€".repeat(87_381)}p` } }).ok);
});

const refused: readonly (readonly [
  what: string,
  held: Parameters<typeof checkedContent>[0],
  code: string,
])[] = [
  ["a key with a slash", { stringData: { "a/b": "planted" } }, "GPS472"],
  ["a key that would name the parent directory", { stringData: { "..": "planted" } }, "GPS472"],
  ["a key that would name the directory itself", { stringData: { ".": "planted" } }, "GPS472"],
  ["a key that begins with two dots", { stringData: { "..a": "planted" } }, "GPS472"],
  ["a key that is too long", { stringData: { ["k".repeat(254)]: "planted" } }, "GPS472"],
  [
    "type tls without the private key",
    { type: "kubernetes.io/tls", stringData: { "tls.crt": "planted" } },
    "GPS463",
  ],
  [
    "basic-auth without a user",
    { type: "kubernetes.io/basic-auth", stringData: { a: "planted" } },
    "GPS463",
  ],
  ["ssh-auth without a key", { type: "kubernetes.io/ssh-auth" }, "GPS463"],
  ["an empty pull secret", { type: "kubernetes.io/dockerconfigjson" }, "GPS463"],
  ["too many keys", { stringData: keys("k", 65) }, "GPS469"],
  ["too many keys in both maps", { data: keys("d", 33), stringData: keys("s", 32) }, "GPS469"],
  ["too many bytes", { stringData: { a: "p".repeat(262_145) } }, "GPS470"],
  ["too many bytes in fewer characters", { stringData: { a: "€".repeat(87_382) } }, "GPS470"],
  [
    "a pull secret that is not JSON",
    { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "planted" } },
    "GPS464",
  ],
];

test("refuses content that cannot be a Secret, with a code and without values", () => {
  for (const [what, held, code] of refused) {
    const judged = checkedContent(held);
    assert.ok(!judged.ok, what);
    assert.match(judged.message, new RegExp(`^${code}: [^\n]+; [^\n]+$`), what);
    assert.ok(!judged.message.includes("planted"), what);
    assert.ok(!judged.message.includes("cGxhbnRlZA"), what);
  }
});

/** Type → the keys that it needs: one key of each inner list. */
const needs: readonly (readonly [SyncContent["type"], ...(readonly string[])[]])[] = [
  ["Opaque"],
  ["kubernetes.io/tls", ["tls.crt"], ["tls.key"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/basic-auth", ["username", "password"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
  ["kubernetes.io/service-account-token"],
];
const contentWith = (type: SyncContent["type"], keys: readonly string[], text = "{}") =>
  checkedContent({ type, stringData: Object.fromEntries(keys.map((key) => [key, text])) });

test("L13: accepts every type with the keys that it needs", () => {
  for (const [type, ...groups] of needs)
    for (const pick of [0, -1])
      assert.ok(
        contentWith(
          type,
          groups.map((keys) => keys.at(pick) ?? ""),
        ).ok,
        type,
      );
});

for (const [type, ...groups] of needs)
  for (const missing of groups)
    test(`refuses ${type} without ${missing.join(" or ")}, and names what is missing`, () => {
      const others = groups.filter((keys) => keys !== missing).flat();
      const judged = contentWith(type, [...others, "other"]);
      assert.ok(!judged.ok);
      assert.ok(judged.message.startsWith("GPS463: "));
      assert.ok(judged.message.includes(missing.join(" or ")), judged.message);
    });

for (const [type, keys] of needs.filter(([type]) => type.includes("docker")))
  for (const text of ["planted", "[]", "null", "1", ""])
    test(`refuses ${type} with ${JSON.stringify(text)} instead of a JSON object`, () => {
      const judged = contentWith(type, keys ?? [], text);
      assert.ok(!judged.ok);
      assert.ok(judged.message.startsWith("GPS464: "), judged.message);
    });

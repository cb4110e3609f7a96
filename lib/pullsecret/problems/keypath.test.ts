import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { character } from "../arbitrary.fixture.ts";
import { formatPath, quote, redactKey } from "./keypath.ts";

const planted = "pl4nted-s3cret";

/** Keys that contain a secret, and the text shown instead. */
const leaky: readonly (readonly [key: string, shown: string])[] = [
  [`https://robot:${planted}@a.io`, "[redacted]@a.io"],
  [`https://robot:${planted}@a.io/x?y#z`, "[redacted]@a.io/x?[redacted]"],
  [`${planted}@a.io`, "[redacted]@a.io"],
  [`robot:${planted}@`, "[redacted]@"],
  [`https://robot:p@ss/${planted}@a.io:5000/x`, "[redacted]@a.io:5000/x"],
  [`HTTPS:\\\\robot:${planted}@a.io`, "[redacted]@a.io"],
  [`robot:\n${planted}\n@a.io`, "[redacted]@a.io"],
  [`https://robot:${planted}%40a.io/x`, "[redacted]@a.io/x"],
  [`https://${planted}%252540a.io`, "[redacted]@a.io"],
  [`robot:${planted}\uff20a.io`, "[redacted]@a.io"],
  [`${planted}\ufe6ba.io`, "[redacted]@a.io"],
  [`${planted}&#64;a.io`, "[redacted]@a.io"],
  [`${planted}\\u0040a.io`, "[redacted]@a.io"],
  [`robot:${planted}@a b.io/*`, "[redacted]@a b.io/*"],
  [`robot:${planted}@[zz`, "[redacted]@[zz"],
  // Ambiguous: where does the user end, and where does the query begin?
  [`https://robot:${planted}?x@a.io`, "[redacted]"],
  [`https://robot:${planted}%23x@a.io`, "[redacted]"],
  [`a.io?x=y@${planted}`, "[redacted]"],
  [`a.io#x@y@${planted}`, "[redacted]"],
  [`a.io?token=${planted}`, "a.io?[redacted]"],
  [`a.io/x#${planted}`, "a.io/x#[redacted]"],
  [`a.io%3ftoken=${planted}`, "a.io%3f[redacted]"],
  [`a.io%2523${planted}`, "a.io%2523[redacted]"],
  // If the text after the colon is not a port, it is a password, and the host is missing.
  [`robot:${planted}`, "robot:[redacted]"],
  [`https://robot:${planted}/x`, "https://robot:[redacted]"],
  [`https://robot:12345678/x`, "https://robot:[redacted]"],
  [`robot%3A${planted}`, "robot:[redacted]"],
  [`[::1]:${planted}`, "[::1]:[redacted]"],
  [`https:${planted}`, "https:[redacted]"],
  [`?${planted}`, "?[redacted]"],
  [`#${planted}`, "#[redacted]"],
  [`@${planted}@`, "[redacted]@"],
  [`:${planted}`, ":[redacted]"],
];

/** Keys without a secret are shown unchanged. */
const harmless = [
  "quay.io",
  "https://index.docker.io/v1/",
  "a.io:5000/foo/",
  "a.io/foo:v1.2",
  "a.io:*",
  "a.io:",
  "*.a.io:443/x",
  "[fe80::1%25eth0]:5000",
  "::1",
  "//a.io/x",
  "/a:b",
  "a.io/x:y",
  "ftp://a.io",
  "a b.io",
  "",
];

test("does not show a secret in a registry key, whatever the spelling", () => {
  for (const [key, shown] of leaky) {
    assert.equal(redactKey(key), shown, JSON.stringify(shown));
    for (const text of [quote(key), formatPath(["auths", key, "auth"])]) {
      assert.ok(!/s3cret|12345678/.test(text), JSON.stringify(shown));
    }
  }
  for (const key of harmless) assert.equal(redactKey(key), key);
});

test("shows nothing before an at sign, however long the key is", () => {
  const noise = fc.string({ unit: character, maxLength: 300 });
  const at = fc.constantFrom("@", "%40", "%2540", "\uff20", "&#64;");
  const scheme = fc.constantFrom("", "https://", "HTTP://", "//", "https:/");
  const filler = fc.constantFrom(0, 0, 90, 5000).map((length) => "x".repeat(length));
  fc.assert(
    fc.property(
      scheme,
      noise,
      filler,
      noise,
      at,
      noise,
      (start, before, long, after, sign, rest) => {
        const key = `${start}${before}${planted}${long}${after}${sign}${rest}`;
        for (const text of [redactKey(key), quote(key), formatPath(["auths", key])]) {
          assert.ok(!text.includes(planted));
        }
      },
    ),
    { numRuns: 2000 },
  );
});

/**
 * Milliseconds for 256 KiB of keys of this length: the shortest of ten runs, because other
 * processes make some runs slower.
 */
function least(unit: string, length: number): number {
  const key = unit.repeat(Math.ceil(length / unit.length));
  const times = Array.from({ length: 10 }, () => {
    const begun = performance.now();
    for (let bytes = 0; bytes < 256 * 1024; bytes += length) redactKey(key);
    return performance.now() - begun;
  });
  return Math.min(...times);
}

test("takes time in proportion to a key's length, up to 256 KiB", () => {
  for (const unit of ["@", "%", "%25", "%40", "?", ":", "[", "/", "&#", "a:"]) {
    const [many, single] = [least(unit, 4 * 1024), least(unit, 256 * 1024)];
    // Quadratic time would be 64 times as much.
    assert.ok(single < 16 * many, `${JSON.stringify(unit)}: ${many} ms, then ${single} ms`);
  }
});

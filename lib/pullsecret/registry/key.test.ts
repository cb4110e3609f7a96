import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import { parse, type Parsed } from "../document/parse.ts";
import { formatProblem } from "../problems/problems.ts";

function read(auths: Readonly<Record<string, string>>, role: "original" | "additional"): Parsed {
  const members = Object.entries(auths).map(([key, text]) => [
    key,
    { auth: Buffer.from(text).toString("base64") },
  ]);
  return parse(Buffer.from(JSON.stringify({ auths: Object.fromEntries(members) })), {
    name: role,
    role,
  });
}

/** `accept`, or the codes of the findings; a problem's code begins with an exclamation mark. */
function verdict(parsed: Parsed): string {
  const codes = (parsed.ok ? parsed.warnings : parsed.problems).map(({ code }) => code).join(" ");
  return parsed.ok ? codes || "accept" : `!${codes}`;
}

/**
 * Keys: the verdict for an additional source, the key that is written, and why. An original keeps
 * each of these keys.
 */
const keys: readonly (readonly [key: string, verdict: string, written: string, why: string])[] = [
  ["http://a.io", "accept", "a.io", "the scheme means nothing"],
  ["https://a.io/", "accept", "a.io", "a last slash means nothing"],
  ["https://a.io/v1/", "accept", "a.io", "an API version means nothing"],
  ["a.io/v2/foo", "accept", "a.io/foo", "an API version before a path means nothing"],
  ["a.io/v1", "GPS158", "a.io/v1", "without the slash it is a repository path"],
  [
    "https://a.io/v1",
    "GPS158",
    "https://a.io/v1",
    "with a scheme, CRI-O reads only the host, so the scheme stays",
  ],
  ["http://a.io:5000/v2", "GPS158", "https://a.io:5000/v2", "http and https are one spelling"],
  ["a.io/v1/v1/x", "accept", "a.io/v1/v1/x", "the kubelet drops one v1, so we write two"],
  ["a.io/foo/", "accept", "a.io/foo/", "not a.io/foo, which also matches a.io/foob"],
  ["a.io:443", "GPS159", "a.io:443", "the kubelet compares ports as texts"],
  ["a.io:", "!GPS125", "a.io:", "no port after the colon"],
  ["a.io:0", "!GPS125", "a.io:0", "0 is not a port"],
  ["a.io:65536", "!GPS125", "a.io:65536", "65536 is not a port"],
  ["a.io:05000", "!GPS125", "a.io:05000", "image names have no zero before a port"],
  ["a.io:http", "!GPS123", "a.io:http", "not a URL"],
  ["user@a.io", "GPS157", "a.io", "the kubelet drops the user"],
  ["a.io?x=1", "GPS157", "a.io", "the kubelet drops the query"],
  ["a.io#x", "GPS157", "a.io", "the kubelet drops the fragment"],
  ["a.io/%66oo", "GPS157", "a.io/foo", "the kubelet decodes the path"],
  ["a.io/%2566oo", "!GPS123", "a.io/%2566oo", "the kubelet does not decode twice"],
  ["a.io//x", "!GPS123", "a.io//x", "no image name has an empty part"],
  ["a.io.", "!GPS123", "a.io.", "no image name has a dot at the end of the host"],
  ["a.io/Foo", "!GPS123", "a.io/Foo", "no image name has capitals in the path"],
  ["a.io/foo:1", "!GPS123", "a.io/foo:1", "tags are cut off before the search"],
  ["a.io/foo@sha256:00", "!GPS123", "a.io/foo@sha256:00", "digests are cut off, too"],
  ["ftp://a.io", "!GPS123", "ftp://a.io", "only http and https are schemes"],
  ["//a.io", "!GPS123", "//a.io", "an empty host"],
  [
    "[::1]",
    "!GPS123",
    "[::1]",
    "the kubelet reads the brackets as a pattern unless a port follows",
  ],
  ["::1", "!GPS123", "::1", "not a URL"],
  ["[fe80::1%25eth0]:5000", "!GPS123", "[fe80::1%25eth0]:5000", "image names have no zones"],
  ["localhost", "accept", "localhost", "a host in image names"],
  ["localhost:5000", "accept", "localhost:5000", "a host in image names"],
  ["registry", "!GPS123", "registry", "in registry/x, registry is an account of Docker Hub"],
  ["registry:5000", "accept", "registry:5000", "with a port it is a host"],
  ["a_b.io", "accept", "a_b.io", "image names can have an underscore in the host"],
  ["constructor", "!GPS123", "constructor", "must not match a property of Object.prototype"],
  ["toString", "!GPS124", "toString", "a capital makes it a host"],
  ["*", "GPS156", "*", "every host without a dot"],
  ["*.*", "GPS156", "*.*", "every host with one dot"],
  ["*.a.io:5000/x", "GPS156", "*.a.io:5000/x", "a port and a path may follow"],
  ["index.docker.io", "accept", "https://index.docker.io/v1/", "Docker Hub has one spelling"],
  ["https://index.docker.io/v2/", "accept", "https://index.docker.io/v1/", "also Docker Hub"],
  [
    "index.docker.io/org",
    "!GPS123",
    "index.docker.io/org",
    "images of index.docker.io are renamed to docker.io",
  ],
  ["docker.io", "accept", "docker.io", "tried for Docker Hub's images before index.docker.io"],
  [
    "registry-1.docker.io",
    "GPS160",
    "registry-1.docker.io",
    "Docker Hub's real host, which no image name contains",
  ],
  ["https://hub.docker.com", "GPS160", "hub.docker.com", "Docker Hub's web site"],
  [`a.io/${"x".repeat(522)}`, "!GPS122", `a.io/${"x".repeat(522)}`, "longer than any image name"],
];

test("H24: judges a key by the images that it can match, and writes it as the kubelet reads it", () => {
  for (const [key, expected, written, why] of keys) {
    assert.equal(verdict(read({ [key]: "u:p" }, "additional")), expected, `${key}: ${why}`);
    const parsed = read({ [key]: "u:p" }, "original");
    assert.ok(parsed.ok, `${key}: is kept in an original`);
    assert.deepEqual(
      parsed.entries.map(({ registry }) => registry),
      [written],
      `${key}: ${why}`,
    );
  }
});

const pairs: readonly (readonly [keys: Record<string, string>, verdict: string, why: string])[] = [
  [
    { "a.io": "u:p", "https://a.io": "u:p" },
    "GPS161",
    "the kubelet would try the same credential twice",
  ],
  [
    { "a.io": "u:p", "https://a.io/v1/": "u:q" },
    "!GPS126",
    "the kubelet would try the two in random order",
  ],
  [{ "a.io": "u:p", "a.io:443": "u:q" }, "GPS159", "two registries for the kubelet"],
  [{ "docker.io": "u:p", "index.docker.io": "u:q" }, "GPS162", "docker.io always matches first"],
  [{ "*.io": "u:p", "index.docker.io": "u:q" }, "GPS156 GPS162", "a wildcard matches first"],
  [{ "a.io/v1": "u:p", "https://a.io/v1": "u:q" }, "!GPS126", "one registry, but two for CRI-O"],
  [
    { "https://index.docker.io/v1": "u:p", "index.docker.io": "u:p" },
    "GPS157 GPS161",
    "both are read as Docker Hub",
  ],
  [{ "https://index.docker.io/v1": "u:p", "index.docker.io": "u:q" }, "!GPS126", "two credentials"],
  [
    { "docker.io": "u:p", "index.docker.io": "u:p" },
    "accept",
    "the same credential: nothing is hidden",
  ],
  [
    { "docker.io/org": "u:p", "index.docker.io": "u:q" },
    "accept",
    "Docker Hub's own entry still serves all other images",
  ],
];

test("H24: judges two keys of one source together", () => {
  for (const [auths, expected, why] of pairs) {
    assert.equal(verdict(read(auths, "additional")), expected, why);
  }
});

test("reads a key of Docker Hub without its slash as Docker Hub in an additional source, and keeps it unchanged in an original", () => {
  for (const key of [
    "https://index.docker.io/v1",
    "http://index.docker.io/v2",
    "index.docker.io/v1",
  ]) {
    const [additional, original] = [
      read({ [key]: "u:p" }, "additional"),
      read({ [key]: "u:p" }, "original"),
    ];
    assert.ok(additional.ok && original.ok);
    assert.equal(additional.entries[0]?.registry, "https://index.docker.io/v1/");
    assert.deepEqual(additional.warnings.map(formatProblem), [
      `additional: auths["${key}"]: is read as "https://index.docker.io/v1/"; write it like that`,
    ]);
    // The kubelet has never used this credential, which might be stale. If we made the kubelet use
    // it, pulls that need no credential could fail.
    assert.equal(original.entries[0]?.registry, key);
    assert.deepEqual(original.warnings.map(formatProblem), [
      `original: auths["${key}"]: kept, but only https://index.docker.io/v1/, with its last slash, is Docker Hub's key; ` +
        "correct it in the original",
    ]);
  }
});

/** What holds for every pull secret. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import {
  accepted,
  documentText,
  registryKey,
  reordered,
  spoiledBytes,
} from "./arbitrary.fixture.ts";
import { canonical, sourcesOf } from "./canonical.ts";
import { explain } from "./explain.ts";
import { readAsKubelet } from "./kubelet.ts";
import { meaningOf } from "./key.ts";
import { match } from "./match.ts";
import { merge, type Merged, type MergePolicy } from "./merge.ts";
import { parse, type Accepted } from "./parse.ts";
import { formatProblem } from "./problems.ts";
import { covers, hidesDockerHub, identity, normalise, overlaps, spelling } from "./registry.ts";

const additionalWins: MergePolicy = { conflicts: "additional", protect: [] };
const policies = fc.constantFrom<MergePolicy>(additionalWins, {
  conflicts: "original",
  protect: [],
});

function mergeAll(
  sources: { original?: Accepted; additional?: Accepted },
  policy: MergePolicy,
): Extract<Merged, { ok: true }> {
  const merged = merge(sources, policy);
  assert.ok(merged.ok, JSON.stringify(merged));
  return merged;
}

function reparse(merged: Extract<Merged, { ok: true }>): Accepted {
  const parsed = parse(Buffer.from(canonical(merged)), { name: "original", role: "original" });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed;
}

test("merging nothing is identity", () => {
  fc.assert(
    fc.property(accepted("original"), policies, (original, policy) => {
      const alone = mergeAll({ original }, policy);
      assert.equal(canonical(mergeAll({ original: reparse(alone) }, policy)), canonical(alone));
      const nothing = parse(Buffer.from('{"auths":{}}'), {
        name: "additional",
        role: "additional",
      });
      assert.ok(nothing.ok);
      assert.equal(
        canonical(mergeAll({ original, additional: nothing }, policy)),
        canonical(alone),
      );
    }),
  );
});

test("H19: merging again changes nothing", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      policies,
      (original, additional, policy) => {
        const once = mergeAll({ original, additional }, policy);
        const twice = mergeAll({ original: reparse(once), additional }, policy);
        assert.equal(canonical(twice), canonical(once));
      },
    ),
  );
});

test("H19: the output does not depend on order and white space", () => {
  fc.assert(
    fc.property(documentText, (text) => {
      const source = { name: "original", role: "original" } as const;
      const [one, other] = [
        parse(Buffer.from(text), source),
        parse(Buffer.from(reordered(JSON.parse(text))), source),
      ];
      assert.equal(one.ok, other.ok);
      if (one.ok && other.ok) {
        assert.equal(
          canonical(mergeAll({ original: one }, additionalWins)),
          canonical(mergeAll({ original: other }, additionalWins)),
        );
      }
    }),
  );
});

test("H9: no entry is lost or invented, and a conflict goes the way of the policy", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      policies,
      (original, additional, policy) => {
        const merged = mergeAll({ original, additional }, policy);
        const [ours, theirs] = [original, additional].map(
          ({ entries }) => new Map(entries.map((e) => [meaningOf(e.registry), e.credential])),
        );
        const registries = merged.entries.map(({ registry }) => registry);
        assert.deepEqual(
          registries.map(meaningOf).toSorted(),
          [...new Set([...(ours?.keys() ?? []), ...(theirs?.keys() ?? [])])].toSorted(),
        );
        const sources = sourcesOf(merged);
        for (const { registry, credential, from } of merged.entries) {
          const [mine, added] = [ours?.get(meaningOf(registry)), theirs?.get(meaningOf(registry))];
          const agreed = mine !== undefined && added?.equals(mine) === true;
          const fromOriginal =
            added === undefined ||
            agreed ||
            (mine !== undefined && policy.conflicts === "original");
          assert.equal(from, fromOriginal ? "original" : "additional");
          assert.equal(sources[registry], from);
          assert.ok(credential.equals((fromOriginal ? mine : added) ?? assert.fail()));
        }
      },
    ),
  );
});

test("what is written is read back as the same entries, wherever each came from", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      policies,
      (original, additional, policy) => {
        const merged = mergeAll({ original, additional }, policy);
        const again = reparse(merged);
        assert.deepEqual(
          again.entries.map(({ registry, credential }) => [registry, credential.entry()]),
          merged.entries.map(({ registry, credential }) => [registry, credential.entry()]),
        );
      },
    ),
  );
});

test("the kubelet reads the written document as exactly these credentials", () => {
  fc.assert(
    fc.property(accepted("original"), accepted("additional"), (original, additional) => {
      const merged = mergeAll({ original, additional }, additionalWins);
      const read = readAsKubelet(Buffer.from(canonical(merged)));
      assert.ok(read.ok);
      assert.deepEqual(
        read.entries.map(({ key, username, password }) => [
          key,
          username.toString(),
          password.toString(),
        ]),
        merged.entries.map(({ registry, credential }) => [
          registry,
          credential.username,
          credential.password,
        ]),
      );
    }),
  );
});

/**
 * Without localhost: there the kubelet may fall back to Docker Hub's entry, which is no takeover
 * anybody means.
 */
const images = fc
  .tuple(
    fc.constantFrom("a.io", "quay.io", "docker.io", "x.a.io", "ab.io", "a.io:5000", "a.io:443"),
    fc.constantFrom("/foo", "/foo/bar", "/x", "/foobar/x", "/v1/foo"),
  )
  .map((parts) => parts.join(""));

test("whoever takes an image over from the original is named in a warning", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      images,
      (original, additional, image) => {
        const merged = mergeAll({ original, additional }, additionalWins);
        const read = readAsKubelet(Buffer.from(canonical(merged)));
        assert.ok(read.ok);
        const sources = sourcesOf(merged);
        const tried = match(read.entries, image)
          .tries.flat()
          .map(({ key }) => key);
        const before = readAsKubelet(
          Buffer.from(canonical(mergeAll({ original }, additionalWins))),
        );
        assert.ok(before.ok);
        const triedBefore = match(before.entries, image)
          .tries.flat()
          .map(({ key }) => key);
        const first = tried[0] ?? "";
        if (triedBefore.length === 0 || sources[first] !== "additional") return;
        const warned = merged.warnings.filter(({ code }) => code === "GPS164" || code === "GPS165");
        assert.ok(
          warned.some(({ path }) => path === `auths["${first}"]`),
          first,
        );
      },
    ),
    { numRuns: 300 },
  );
});

test("a protected registry's images are never served by an additional entry", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      images,
      (original, additional, image) => {
        const merged = merge(
          { original, additional },
          { conflicts: "additional", protect: [image] },
        );
        if (!merged.ok) return;
        const read = readAsKubelet(Buffer.from(canonical(merged)));
        assert.ok(read.ok);
        const sources = sourcesOf(merged);
        for (const { key } of match(read.entries, image).tries.flat())
          assert.equal(sources[key], "original");
      },
    ),
    { numRuns: 300 },
  );
});

test("nothing throws on any bytes, and Object.prototype stays clean", () => {
  const clean = Object.getOwnPropertyNames(Object.prototype);
  fc.assert(
    fc.property(spoiledBytes, fc.constantFrom("original", "additional"), (bytes, role) => {
      const parsed = parse(bytes, { name: role, role });
      if (parsed.ok) canonical(mergeAll({ [role]: parsed }, additionalWins));
      assert.ok(explain(bytes, "a.io/foo", "file") !== undefined);
    }),
    { numRuns: 1000 },
  );
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), clean);
  assert.equal(({} as Record<string, unknown>)["auth"], undefined);
});

test("what the kubelet would drop is never accepted", () => {
  fc.assert(
    fc.property(spoiledBytes, (bytes) => {
      if (!readAsKubelet(bytes).ok)
        assert.equal(parse(bytes, { name: "original", role: "original" }).ok, false);
    }),
    { numRuns: 1000 },
  );
});

test("no line holds a password, wherever it was put", () => {
  const planted = "pl4nted-s3cret";
  const encoded = Buffer.from(`u:${planted}`).toString("base64");
  const places = [
    (s: string) => `{"auths":{"a.io":{"auth":"${s}"}}}`,
    (s: string) => `{"auths":{"a.io":{"username":"u\\n","password":"${s}"}}}`,
    (s: string) => `{"auths":{"a.io":{"username":"${s}:x","password":"y"}}}`,
    (s: string) => `{"auths":{"a.io":{"auth":"dTpw","password":"${s}","email":5}}}`,
    (s: string) => `{"auths":{"a.io":{"identitytoken":"${s}"}}}`,
    (s: string) => `{"auths":{"u:${s}@a.io":{"auth":"dTpw"}}}`,
    (s: string) => `{"auths":{"https://u:${s}@a.io/x":{"auth":5}}}`,
    (s: string) => `{"auths":{"a.io?token=${s}":{"auth":"dTpw"}}}`,
    (s: string) => `{"auths":{"https://u:${s}%40a.io":{"auth":"dTpw"},"b.io":{"auth":"dTpw"}}}`,
    (s: string) => `{"auths":{"b.io":{"auth":"dTo=","identitytoken":"${s}"}}}`,
    (s: string) => `{"auths":{"a.io":{"username":"${s}"}}}`,
    (s: string) => `{"auths":{"a.io":"${s}"}}`,
    (s: string) => `{"auths":"${s}"}`,
    (s: string) => `"${s}"`,
    (s: string) => `{"auths":{"a.io":{"auth":"dTpw"}},"x":"${s}",}`,
    (s: string) => `{"auths":{"a.io":{"auth":"\\x${s}"}}}`,
    (s: string) => `{"auths":{"a.io":{"auth":"dTpw"}},"HttpHeaders":{"Authorization":["${s}"]}}`,
  ];
  for (const place of places) {
    for (const value of [planted, encoded, `${encoded} `]) {
      for (const role of ["original", "additional"] as const) {
        const bytes = Buffer.from(place(value));
        const parsed = parse(bytes, { name: role, role });
        const lines = (parsed.ok ? parsed.warnings : parsed.problems).map(formatProblem).join("\n");
        const explained = JSON.stringify(explain(bytes, "a.io/x", "file"));
        // explain names users: that is its purpose.
        const texts = place("").includes('"username":":x"') ? [lines] : [lines, explained];
        for (const text of texts) {
          assert.ok(!text.includes("s3cret") && !text.includes(encoded), `${place("…")}: ${text}`);
        }
      }
    }
  }
});

test("a registry keeps its identity when it is written, and covers itself", () => {
  fc.assert(
    fc.property(registryKey, registryKey, (key, other) => {
      const [one, two] = [identity(key), identity(other)];
      if (one === undefined || two === undefined) return;
      assert.equal(normalise(spelling(one)), one);
      assert.equal(identity(spelling(one)), one);
      assert.ok(covers(one, one) && overlaps(one, one));
      assert.equal(overlaps(one, two), overlaps(two, one));
      if (covers(one, two)) assert.ok(overlaps(one, two));
      assert.equal(
        hidesDockerHub(one),
        one !== "index.docker.io" && covers(one, "index.docker.io"),
      );
    }),
    { numRuns: 1000 },
  );
});

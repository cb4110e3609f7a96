/** Laws that hold for every pull secret. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import fc from "fast-check";
import {
  accepted,
  documentText,
  ranked,
  registryKey,
  reordered,
  spoiledBytes,
  twinned,
} from "./arbitrary.fixture.ts";
import { canonical, sourcesOf } from "./merge/canonical.ts";
import { explain, match } from "./kubelet/match.ts";
import { readAsKubelet } from "./kubelet/kubelet.ts";
import { imagesOf, meaningOf } from "./registry/key.ts";
import { merge, type Merged, type MergePolicy } from "./merge/merge.ts";
import { agree, called, isOriginal, offersOf, type MergeSource } from "./merge/offer.ts";
import { parse, type Accepted } from "./document/parse.ts";
import { formatProblem } from "./problems/problems.ts";
import {
  covers,
  dockerHubKey,
  hidesDockerHub,
  hostOf,
  identity,
  isHubLogin,
  normalise,
  overlaps,
  spelling,
} from "./registry/registry.ts";

const additionalWins: MergePolicy = { conflicts: "additional", protect: [] };
const policies = fc.constantFrom<MergePolicy>(additionalWins, {
  conflicts: "original",
  protect: [],
});

/** `sources`: the highest first, as a list or by id. */
function mergeAll(
  sources: readonly MergeSource[] | Readonly<Record<string, Accepted>>,
  policy: MergePolicy,
): Extract<Merged, { ok: true }> {
  const listed = Array.isArray(sources)
    ? (sources as readonly MergeSource[])
    : Object.entries(sources as Record<string, Accepted>).map(([id, document]) => ({
        id,
        accepted: document,
      }));
  const merged = merge(listed, policy);
  assert.ok(merged.ok, JSON.stringify(merged));
  return merged;
}

function reparse(merged: Extract<Merged, { ok: true }>): Accepted {
  const parsed = parse(Buffer.from(canonical(merged)), { name: "original", role: "original" });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  return parsed;
}

test("returns the same source when nothing is merged with it", () => {
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
        canonical(mergeAll({ additional: nothing, original }, policy)),
        canonical(alone),
      );
    }),
  );
});

test("H19: changes nothing when it merges again", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      policies,
      (original, additional, policy) => {
        const once = mergeAll({ additional, original }, policy);
        const twice = mergeAll({ additional, original: reparse(once) }, policy);
        assert.equal(canonical(twice), canonical(once));
      },
    ),
  );
});

test("H19: gives the same output for any order and white space", () => {
  fc.assert(
    fc.property(documentText, (text) => {
      const source = { name: "original", role: "original" } as const;
      const [parsed, other] = [
        parse(Buffer.from(text), source),
        parse(Buffer.from(reordered(JSON.parse(text))), source),
      ];
      assert.equal(parsed.ok, other.ok);
      if (parsed.ok && other.ok) {
        assert.equal(
          canonical(mergeAll({ original: parsed }, additionalWins)),
          canonical(mergeAll({ original: other }, additionalWins)),
        );
      }
    }),
  );
});

/**
 * Whether the merge added this entry: it is for `docker.io`, but its source has Docker Hub only
 * under docker login's key.
 */
const isPromoted = (
  sources: readonly MergeSource[],
  { registry, from }: Readonly<{ registry: string; from: string }>,
): boolean =>
  identity(registry) === "docker.io" &&
  !sources
    .find(({ id }) => id === from)
    ?.accepted.entries.some((entry) => entry.registry === registry);

/**
 * Images → the credentials that the kubelet tries. It does not try the key of docker login if there
 * is an entry for `docker.io`.
 */
function triedOf(entries: Accepted["entries"]): ReadonlyMap<string, ReadonlySet<string>> {
  const byImages = Map.groupBy(entries, ({ registry }) => imagesOf(registry));
  const tried = [...byImages].map(([images, group]) => {
    const others = group.filter(({ registry }) => !isHubLogin(registry));
    const used = others.length > 0 ? others : group;
    return [images, new Set(used.map(({ credential }) => JSON.stringify(credential.entry())))];
  });
  return new Map(tried as [string, Set<string>][]);
}

test("H9: gives each registry the credentials of the highest source, or of the original with PreferOriginal", () => {
  let twins = 0;
  fc.assert(
    fc.property(ranked, policies, (sources, policy) => {
      const had = sources.map(({ id, accepted: { entries } }) => ({ id, tried: triedOf(entries) }));
      const original = had.at(-1) ?? assert.fail();
      const merged = mergeAll(sources, policy);
      const written = triedOf(merged.entries);
      assert.deepEqual(
        new Set(written.keys()),
        new Set(had.flatMap(({ tried }) => [...tried.keys()])),
      );
      for (const [images, credentials] of written) {
        const offers = had.filter(({ tried }) => tried.has(images));
        const prefers = policy.conflicts === "original" && original.tried.has(images);
        const highest = prefers ? original : offers[0];
        const same = ({ tried }: (typeof had)[number]) =>
          [...(tried.get(images) ?? [])].every((credential) => credentials.has(credential));
        assert.ok(highest !== undefined && same(highest));
        if (credentials.size > 1) twins += 1;
        // Only an original can have several credentials for the same images. Even if the highest
        // source has only one of these credentials, the merge writes all of them.
        const all = credentials.size > 1 ? original : highest;
        assert.deepEqual(credentials, all.tried.get(images));
        const lost = offers.filter((offer) => !same(offer)).map(({ id }) => id);
        for (const entry of merged.entries.filter(
          (mergedEntry) => imagesOf(mergedEntry.registry) === images,
        )) {
          assert.deepEqual(entry.shadows, lost);
          assert.equal(sourcesOf(merged)[entry.registry], entry.from);
          assert.ok(offers.some((offer) => offer.id === entry.from && same(offer)));
        }
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(twins > 5, `${twins} originals with several: the generator misses this case`);
});

test("lets the kubelet try the highest source's entry for docker.io, whatever wildcards there are", () => {
  let beside = 0;
  fc.assert(
    fc.property(ranked, fc.boolean(), (sources, hasWildcard) => {
      const [top] = sources;
      const own = top?.accepted.entries.find(({ registry }) => identity(registry) === "docker.io");
      if (top === undefined || own === undefined) return;
      const wild = parse(Buffer.from('{"auths":{"docker.*":{"auth":"dzp3"}}}'), {
        name: "additional",
        role: "additional",
      });
      assert.ok(wild.ok);
      const entries = [...top.accepted.entries, ...(hasWildcard ? wild.entries : [])];
      const first = { ...top, accepted: { ...top.accepted, entries } };
      const merged = mergeAll([first, ...sources.slice(1)], additionalWins);
      const tries = match(
        merged.entries.map((entry) => ({ key: entry.registry, ...entry })),
        "docker.io/library/nginx",
      ).tries.flat();
      if (merged.entries.some(({ registry }) => isHubLogin(registry))) beside += 1;
      assert.ok(tries.some(({ credential }) => credential.equals(own.credential)));
    }),
    { numRuns: 1000 },
  );
  assert.ok(beside > 20, `${beside} beside docker login's key: the generator misses this case`);
});

test("lets the kubelet try the Docker Hub credentials that displace an entry for docker.io", () => {
  let displaced = 0;
  fc.assert(
    fc.property(ranked, (sources) => {
      const all = sources.flatMap(({ accepted: { entries } }) => entries);
      const named = all.filter(({ registry }) => identity(registry) === "docker.io");
      if (named.length === 0) return;
      const { entries } = mergeAll(sources, additionalWins);
      const keyed = entries.map((entry) => ({ key: entry.registry, ...entry }));
      const tries = match(keyed, "docker.io/library/nginx").tries.flat();
      if (entries.some(({ registry }) => isHubLogin(registry))) displaced += 1;
      for (const credential of triedOf(entries).get("docker.io") ?? [])
        assert.ok(
          tries.some((attempt) => JSON.stringify(attempt.credential.entry()) === credential),
        );
    }),
    { numRuns: 1000 },
  );
  assert.ok(displaced > 20, `${displaced} displaced: the generator misses this case`);
});

test("keeps an entry unchanged when a source above the entry's own source is withdrawn", () => {
  fc.assert(
    fc.property(ranked, policies, fc.nat(), (sources, policy, choice) => {
      const gone = choice % (sources.length - 1);
      const [before, after] = [sources, sources.toSpliced(gone, 1)].map((remaining) =>
        mergeAll(remaining, policy).entries.map(({ registry, credential, from }) => ({
          registry,
          from,
          entry: credential.entry(),
        })),
      );
      const rank = (id: string) => sources.findIndex((source) => source.id === id);
      for (const entry of before ?? [])
        if (rank(entry.from) > gone && !isPromoted(sources, entry))
          assert.deepEqual(
            after?.find(({ registry }) => registry === entry.registry),
            entry,
          );
    }),
  );
});

test("attributes an entry to the original if all sources have the same credential", () => {
  let shared = 0;
  fc.assert(
    fc.property(ranked, policies, (sources, policy) => {
      const { entries } = mergeAll(sources, policy);
      for (const [images, offers] of offersOf(sources)) {
        const original = offers.find(isOriginal);
        if (original === undefined || !offers.every((offer) => agree(offer, original))) continue;
        shared += Number(offers.length > 1);
        for (const { registry, credential } of original.all) {
          const written = entries.find((entry) => entry.registry === registry);
          assert.ok(written !== undefined && written.credential.equals(credential), images);
          assert.equal(written.from, "original", registry);
        }
      }
    }),
    { numRuns: 500 },
  );
  assert.ok(shared > 10, `${shared} shared: the generator misses this case`);
});

test("reads back the written document as the same entries, whatever their source", () => {
  fc.assert(
    fc.property(
      accepted("original"),
      accepted("additional"),
      policies,
      (original, additional, policy) => {
        const merged = mergeAll({ additional, original }, policy);
        const again = reparse(merged);
        assert.deepEqual(
          again.entries
            .toSorted((a, b) => (a.registry < b.registry ? -1 : 1))
            .map(({ registry, credential }) => [registry, credential.entry()]),
          merged.entries.map(({ registry, credential }) => [registry, credential.entry()]),
        );
      },
    ),
  );
});

test("writes a document that the kubelet reads as exactly these credentials", () => {
  fc.assert(
    fc.property(accepted("original"), accepted("additional"), (original, additional) => {
      const merged = mergeAll({ additional, original }, additionalWins);
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
 * Images of several hosts, but not of localhost. For images of localhost, the kubelet can fall back
 * to Docker Hub's entry. We do not count that as a takeover.
 */
const images = fc
  .tuple(
    fc.constantFrom("a.io", "quay.io", "docker.io", "x.a.io", "ab.io", "a.io:5000", "a.io:443"),
    fc.constantFrom("/foo", "/foo/bar", "/x", "/foobar/x", "/v1/foo"),
  )
  .map((parts) => parts.join(""));

/** The kubelet's first try for an image: the entry's source, and its credential. */
function firstOf(sources: readonly MergeSource[], image: string) {
  const merged = mergeAll(sources, additionalWins);
  const read = readAsKubelet(Buffer.from(canonical(merged)));
  assert.ok(read.ok);
  const [group = []] = match(read.entries, image).tries;
  const entries = group.flatMap(
    ({ key }) => merged.entries.find(({ registry }) => registry === key) ?? [],
  );
  // The kubelet tries the entries of one group in random order.
  return entries[0] && { ...entries[0], drawn: entries, warnings: merged.warnings };
}

test("warns about every source that takes over an image from another source", () => {
  let takeovers = 0;
  fc.assert(
    fc.property(ranked, images, (sources, image) => {
      const first = firstOf(sources, image);
      if (first === undefined || first.from === "original") return;
      const otherSources = sources.filter(({ id }) => id !== first.from);
      const before = firstOf(otherSources, image);
      if (before === undefined) return;
      if (before.drawn.some(({ credential }) => credential.equals(first.credential))) return;
      // A source that lost its own registry already has a warning.
      const served = imagesOf(before.registry);
      const lost = new Set(
        sources
          .flatMap(({ accepted: { entries } }) => entries)
          .filter(({ registry }) => imagesOf(registry) === served)
          .map(({ registry }) => `auths["${registry}"]`),
      );
      const isWarned = first.warnings.some(({ code, path }) => code === "GPS164" && lost.has(path));
      if (isWarned && served !== imagesOf(first.registry)) return;
      takeovers += 1;
      const warned = first.warnings.filter(
        ({ code, source }) => source === first.from && /^GPS(?:164|165|172)$/.test(code),
      );
      // The warning about Docker Hub's images can name docker login's key instead of this entry's
      // key.
      const keys = [first.registry, ...(image.startsWith("docker.io/") ? [dockerHubKey] : [])];
      assert.ok(
        warned.some(({ path }) => keys.some((key) => path === `auths["${key}"]`)),
        first.registry,
      );
    }),
    { numRuns: 300 },
  );
  assert.ok(takeovers > 10, `${takeovers} takeovers: the generator misses this case`);
});

/** Images that all of these keys might serve. */
function probesOf(...keys: readonly string[]): string[] {
  const meant = keys.map((key) => (isHubLogin(key) ? "docker.io" : (identity(key) ?? "")));
  const [labels = [], others = []] = meant.map((registry) => hostOf(registry).split("."));
  // Both of "docker.*" and "*.io" match docker.io.
  const both = labels.map((label, at) => (label.includes("*") ? (others[at] ?? label) : label));
  const hosts = [labels, others, both].map((host) => host.join(".").replaceAll("*", "q"));
  const paths = meant.map((registry) => registry.slice(hostOf(registry).length));
  return hosts.flatMap((host) =>
    paths.flatMap((path) => [`${host}${path}/zz`, `${host}${path}zz`]),
  );
}

test("warns that an entry is tried before another, or is never tried, only if that is true", () => {
  let named = 0;
  fc.assert(
    fc.property(ranked, policies, (sources, policy) => {
      const merged = mergeAll(sources, policy);
      const read = readAsKubelet(Buffer.from(canonical(merged)));
      assert.ok(read.ok);
      const tries = (image: string) => match(read.entries, image).tries.flat();
      for (const { source, path, what } of merged.warnings) {
        const [, later = "", hidden = ""] =
          /^is tried before "([^"]*)"|^is never tried: "([^"]*)"/.exec(what) ?? [];
        const entry = merged.entries.find(({ registry }) => path === `auths["${registry}"]`);
        if (source === "original" || entry === undefined || later + hidden === "") continue;
        // If another entry of the same source hides this entry, the source's own warning reports
        // that.
        if (
          later === "" &&
          sources.some(
            ({ id, accepted: { entries } }) =>
              id === source && entries.some(({ registry }) => hidesDockerHub(registry)),
          )
        )
          continue;
        named += 1;
        const [winning, losing] = later === "" ? [hidden, path] : [entry.registry, later];
        const isBefore = (image: string): boolean => {
          const keys = tries(image).map(({ key }) => key);
          const at = keys.findIndex((key) => meaningOf(key) === meaningOf(winning));
          return (
            at >= 0 &&
            (later === "" || match([{ key: later }], image).tries.length > 0) &&
            !keys.slice(0, at).some((key) => imagesOf(key) === imagesOf(losing))
          );
        };
        assert.ok(
          probesOf(entry.registry, later + hidden).some(isBefore),
          `${policy.conflicts}: ${path} ${what}: ${canonical(merged)}`,
        );
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(named > 20, `${named} warnings: the generator misses this case`);
});

test("names a registry of another source only if that source has an entry for it", () => {
  const named = new Set<string>();
  fc.assert(
    fc.property(ranked, policies, (sources, policy) => {
      for (const { code, what } of mergeAll(sources, policy).warnings) {
        const [, key, name] = / before "([^"]*)" of (.*?)(?:;|$)/.exec(what) ?? [];
        if (key === undefined) continue;
        named.add(code);
        const source = sources.find(({ id }) => called(id) === name);
        const served = source?.accepted.entries.map(({ registry }) => imagesOf(registry));
        assert.ok(served?.includes(imagesOf(key)), `${key} of ${name}: ${served?.join(", ")}`);
      }
    }),
    { numRuns: 1000 },
  );
  assert.deepEqual([...named].toSorted(), ["GPS165", "GPS172"]);
});

test("serves a protected registry's images only with the original's credential", () => {
  fc.assert(
    fc.property(ranked, images, (sources, image) => {
      const merged = merge(sources, { conflicts: "additional", protect: [image] });
      if (!merged.ok) return;
      const read = readAsKubelet(Buffer.from(canonical(merged)));
      assert.ok(read.ok);
      const original = sources.at(-1)?.accepted.entries ?? [];
      for (const { key } of match(read.entries, image).tries.flat()) {
        const { registry, from, credential } =
          merged.entries.find((entry) => entry.registry === key) ?? assert.fail(key);
        if (from === "original") continue;
        assert.ok(
          original.some(
            (entry) =>
              imagesOf(entry.registry) === imagesOf(registry) &&
              entry.credential.equals(credential),
          ),
          `${key} of ${from}`,
        );
      }
    }),
    { numRuns: 1000 },
  );
});

test("an accepted merge keeps exactly the original's credentials for a protected registry", () => {
  let twins = 0;
  const protect = ["a.io", "docker.io"];
  fc.assert(
    fc.property(fc.oneof(ranked, twinned), policies, (sources, { conflicts }) => {
      const merged = merge(sources, { conflicts, protect });
      if (!merged.ok) return;
      const written = triedOf(merged.entries);
      const own = triedOf(sources.at(-1)?.accepted.entries ?? []);
      for (const [images, credentials] of [...written, ...own]) {
        if (!protect.some((name) => overlaps(images, name))) continue;
        if (credentials.size > 1) twins += 1;
        assert.deepEqual(written.get(images), own.get(images), images);
      }
    }),
    { numRuns: 1000 },
  );
  assert.ok(twins > 20, `${twins} originals with several: the generator misses this case`);
});

test("never throws on any bytes, and keeps Object.prototype clean", () => {
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

test("never accepts a document that the kubelet would drop", () => {
  fc.assert(
    fc.property(spoiledBytes, (bytes) => {
      if (!readAsKubelet(bytes).ok)
        assert.equal(parse(bytes, { name: "original", role: "original" }).ok, false);
    }),
    { numRuns: 1000 },
  );
});

test("prints no password, wherever it is in the document", () => {
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
        // The function explain shows user names on purpose.
        const texts = place("").includes('"username":":x"') ? [lines] : [lines, explained];
        for (const text of texts) {
          assert.ok(!text.includes("s3cret") && !text.includes(encoded), `${place("…")}: ${text}`);
        }
      }
    }
  }
});

test("writes a key that means the same registry, and treats a registry as covering itself", () => {
  fc.assert(
    fc.property(registryKey, registryKey, (key, other) => {
      const [first, two] = [identity(key), identity(other)];
      if (first === undefined || two === undefined) return;
      assert.equal(normalise(spelling(first)), first);
      assert.equal(identity(spelling(first)), first);
      assert.ok(covers(first, first) && overlaps(first, first));
      assert.equal(overlaps(first, two), overlaps(two, first));
      if (covers(first, two)) assert.ok(overlaps(first, two));
      assert.equal(
        hidesDockerHub(first),
        first !== "index.docker.io" && covers(first, "index.docker.io"),
      );
    }),
    { numRuns: 1000 },
  );
});

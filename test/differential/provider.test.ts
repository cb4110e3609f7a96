/** The kubelet's own code runs our credential provider, with the real script. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { script, providerConfig } from "#pullsecret/provider.fixture.ts";
import { answerOf, judgeConfig, whyUnanswerable } from "#pullsecret/provider.ts";
import { ask } from "./oracle.ts";
import { lay, lookUp, register } from "./provider.ts";

const entry = (user: string, password: string) => ({
  auth: Buffer.from(`${user}:${password}`).toString("base64"),
});
const entries: ReadonlyMap<string, object> = new Map([
  ["a.io", entry("a", "one")],
  ["a.io/team", entry("team", "two")],
  ["*.wild.io", entry("wild", "three:four")],
  ["port.io:5000", entry("port", 'q"\\u00e9')],
  ["https://index.docker.io/v1/", entry("hub", "five")],
  ["deep.a.b.c.d.e.f.io", entry("deep", "six")],
]);
const images = [
  "a.io/app:1",
  "a.io/team/app:1",
  "x.wild.io/app",
  "port.io:5000/app",
  "port.io/app",
  "busybox",
  "team/app",
  "deep.a.b.c.d.e.f.io/app",
  "other.io/app",
];

test("gives the kubelet the same credentials through our provider as through config.json", async (t) => {
  const root = lay(t, providerConfig(entries.keys(), "All"), answerOf(entries));
  const file = Buffer.from(JSON.stringify({ auths: Object.fromEntries(entries) }));
  const [byFile] = await ask([{ file, images }]);
  assert.ok(byFile);
  const tries = byFile.lookups.map((lookup) => lookup.tries);
  assert.ok(
    tries.filter(({ length }) => length > 0).length >= 6,
    "the kubelet finds too little for a comparison",
  );
  assert.deepEqual(await lookUp(root, images), tries);
  assert.deepEqual(await lookUp(root, images, providerFiles.config), tries);
  assert.ok(existsSync(join(root, providerFiles.stamp)), "the script left no stamp");
});

/** A row of matchImages, the key of an entry, and an image that the entry serves. */
const rows: readonly (readonly [row: string, key: string, image: string])[] = [
  ["*.io", "a.io", "a.io/app"],
  ["*.io", "x.a.io", "x.a.io/app"],
  ["*.*.*", "harbor.example.com", "harbor.example.com/app"],
  ["port.io:5000", "port.io:5000", "port.io:5000/app"],
  ["port.io:5000", "port.io:5001", "port.io:5001/app"],
  ["port.io:5000", "port.io", "port.io/app"],
  ["port.io", "port.io:5000", "port.io:5000/app"],
  ["a.b.io/team", "a.b.io/team", "a.b.io/team/app"],
  ["a.b.io/team", "a.b.io", "a.b.io/app"],
  ["a.b.io/*", "a.b.io", "a.b.io/app"],
  ["https://port.io:5000", "port.io:5000", "port.io:5000/app"],
  ["http://a.io/", "a.io", "a.io/app"],
  ["a.io/", "a.io", "a.io/app"],
  ["a.io/v2/", "a.io", "a.io/app"],
  ["user@a.io", "a.io", "a.io/app"],
  ["docker.io", "https://index.docker.io/v1/", "docker.io/library/nginx"],
  ["index.docker.io", "docker.io", "docker.io/library/nginx"],
  ["https://index.docker.io/v1/", "https://index.docker.io/v1/", "docker.io/library/nginx"],
];
for (const [row, key, image] of rows)
  test(`reports that our provider can answer for ${key} exactly if the kubelet runs our script because of the row ${row}`, async (t) => {
    const config = JSON.parse(providerConfig([], "All")) as {
      providers: { matchImages: unknown }[];
    };
    for (const provider of config.providers) provider.matchImages = [row];
    const answer = answerOf(new Map([[key, entry("u", key)]]));
    const [tries = []] = await lookUp(lay(t, JSON.stringify(config), answer), [image]);
    assert.equal(whyUnanswerable(key, entry("u", key), [row]) === undefined, tries.length > 0);
  });

test("if the answer is missing or empty, gives the kubelet no credential, but lets the kubelet continue", async (t) => {
  const config = providerConfig([], "All");
  assert.deepEqual(await lookUp(lay(t, config), ["a.io/app"]), [[]]);
  assert.deepEqual(await lookUp(lay(t, config, answerOf(new Map())), ["a.io/app"]), [[]]);
});

const answerFile = `"\${0%/*}/../answer.json"`;
/**
 * What the damaged script does, the script, and the number of credentials that a kubelet then
 * finds.
 */
const spoilt: readonly (readonly [what: string, script: string, found: number])[] = [
  ["writes rubbish", "#!/bin/sh\necho '{'\n", 0],
  ["writes another kind", `#!/bin/sh\necho '{"kind":"Status","apiVersion":"v1"}'\n`, 0],
  ["answers in another version", `#!/bin/sh\nexec sed 's#/v1"#/v1beta1"#' ${answerFile}\n`, 0],
  ["answers with an unknown field", `#!/bin/sh\nexec sed 's/{/{"more":1,/' ${answerFile}\n`, 0],
  ["answers with the same bytes", `#!/bin/sh\nexec sed 's/x/x/' ${answerFile}\n`, 1],
  ["is killed", "#!/bin/sh\nkill -9 $$\n", 0],
  ["fails", `${script}exit 1\n`.replace("exec ", ""), 0],
  ["is slow", script.replace("exec", "sleep 2; exec"), 1],
  ["hangs for longer than a kubelet waits", "#!/bin/sh\nexec sleep 90\n", 0],
];
for (const [what, program, count] of spoilt)
  test(`while the script ${what}, gives a kubelet ${count} of its credentials, and all after the script is repaired`, async (t) => {
    const root = lay(t, providerConfig([], "All"), answerOf(entries));
    const file = join(root, providerFiles.script);
    writeFileSync(file, program);
    const [lookup] = (await register(root, ["a.io/app"])).lookups;
    assert.equal(lookup?.tries.length, count);
    assert.equal(lookup.logged.includes("Failed to provide credentials for image"), count === 0);
    writeFileSync(file, script);
    const [then] = await lookUp(root, ["a.io/app"]);
    assert.equal(then?.length, 1);
  });

test("answers even if the stamp cannot be created", async (t) => {
  const root = lay(t, providerConfig([], "All"), answerOf(entries));
  mkdirSync(join(root, providerFiles.stamp));
  const [tries] = await lookUp(root, ["a.io/app"]);
  assert.equal(tries?.length, 1);
});

test("refuses configurations with which no kubelet would start", async (t) => {
  for (const scope of ["All", "Annotated"] satisfies ProviderScope[])
    await lookUp(lay(t, providerConfig(["a.io:1"], scope)), ["other.io/app"]);
  const good = providerConfig([], "All");
  const wrong = [
    good.replace('"name": "global-pull-secret"', '"name": "other"'),
    good.replace("defaultCacheDuration", "cacheDuration"),
    good.replace("credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v9"),
    good.replace('"kubelet.config.k8s.io/v1"', '"kubelet.config.k8s.io/v9"'),
    good.replace("CredentialProviderConfig", "KubeletConfiguration"),
    good.replace('"providers"', '"x": 1, "providers"'),
    good.slice(1),
  ];
  for (const config of wrong) {
    assert.notEqual(config, good);
    assert.equal(judgeConfig(Buffer.from(config), "All").ok, false, config);
    await assert.rejects(lookUp(lay(t, config), ["a.io/app"]), /failed/, config);
  }
});

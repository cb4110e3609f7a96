/**
 * Checks with the kubelet's own code how a kubelet reads the two flags for credential providers.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { providerFiles, providerName } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider.fixture.ts";
import { answerOf } from "#pullsecret/provider.ts";
import { held, type Held } from "./oracle.ts";
import { lay, lookUp, register } from "./provider.ts";

const { bin, config: configFile, configs, script } = providerFiles;
const image = "a.io/app";
const answer = (user: string) => answerOf(new Map([["a.io", { username: user, password: "p" }]]));
const triedAs = (user: string): Held => held(Buffer.from(user), Buffer.from("p"));
const ours = providerConfig([], "All");

/**
 * The configuration of another credential provider, as YAML. The function `program` returns the
 * script of this provider.
 */
const others = (name: string) => `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
  - name: ${name}
    apiVersion: credentialprovider.kubelet.k8s.io/v1
    matchImages: ["*.*"]
    defaultCacheDuration: 0s
`;
const program = (name: string) => `#!/bin/sh\necho '${answer(name).toString().trim()}'\n`;

/**
 * The hash that the kubelet computes from these files. For each file it hashes the length, then the
 * bytes.
 */
function hashOf(...files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const bytes of files.map((text) => Buffer.from(text))) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return `sha256:${hash.digest("hex")}`;
}

test("the kubelet reads only *.json, *.yaml and *.yml of a directory, in the order of their names", async (t) => {
  const root = lay(t, ours, answer("ours"));
  const put = (name: string, text: string) => fs.writeFileSync(join(root, configs, name), text);
  for (const name of ["first", "last"])
    fs.writeFileSync(join(root, bin, name), program(name), { mode: 0o700 });
  put("zz.yml", others("last"));
  put("10.yaml", others("first"));
  for (const name of ["README", "11.json.bak", "12.conf", ".yaml~"]) put(name, "{");
  fs.mkdirSync(join(root, configs, "13.json"));
  put("13.json/14.json", "{");
  const { hash, lookups } = await register(root, [image]);
  assert.deepEqual(lookups[0]?.tries, ["first", "ours", "last"].map(triedAs));
  assert.equal(hash, hashOf(others("first"), ours, others("last")));
  const alone = await register(root, [image], { config: configFile });
  assert.deepEqual(alone.lookups[0]?.tries, [triedAs("ours")]);
  assert.equal(alone.hash, hashOf(ours));
  put("zz.yml", `${others("last")}\n`);
  assert.notEqual((await register(root, [image])).hash, hash);
});

type Spoil = (under: (name: string) => string) => void;
const twice = JSON.parse(ours) as { providers: object[] };
/**
 * `what`: the fault. `from`: the configuration's path in the kubelet's flag. `words`: the kubelet's
 * error. `spoil`: causes the fault.
 */
const refused: readonly (readonly [what: string, from: string, words: RegExp, spoil: Spoil])[] = [
  [
    "a file that is missing",
    configFile,
    /unable to access path/,
    (under) => fs.rmSync(under(configFile)),
  ],
  [
    "a directory that is missing",
    configs,
    /unable to access path/,
    (under) => fs.rmSync(under(configs), { recursive: true }),
  ],
  [
    "an empty directory",
    configs,
    /no configuration files found/,
    (under) => fs.rmSync(under(configFile)),
  ],
  [
    "a link to nowhere",
    configs,
    /unable to read file/,
    (under) => fs.symlinkSync("/nowhere", under(`${configs}/link.json`)),
  ],
  [
    "one provider in two files",
    configs,
    /duplicate provider name "global-pull-secret"/,
    (under) => fs.writeFileSync(under(`${configs}/again.yaml`), others(providerName)),
  ],
  [
    "one provider twice in a file",
    configFile,
    /duplicate provider name "global-pull-secret"/,
    (under) =>
      fs.writeFileSync(
        under(configFile),
        JSON.stringify({ ...twice, providers: [...twice.providers, ...twice.providers] }),
      ),
  ],
  [
    "a directory of programs that is missing",
    configFile,
    /plugin binary directory \S+ did not exist/,
    (under) => fs.rmSync(under(bin), { recursive: true }),
  ],
  [
    "a program that is missing",
    configFile,
    /plugin binary executable .*did not exist/,
    (under) => fs.rmSync(under(script)),
  ],
  [
    "a program that is not executable",
    configFile,
    /error inspecting binary executable/,
    (under) => fs.chmodSync(under(script), 0o600),
  ],
];
for (const [what, config, words, spoil] of refused)
  test(`does not start a kubelet whose flags name ${what}`, async (t) => {
    const root = lay(t, ours, answer("ours"));
    assert.deepEqual(await lookUp(root, [image], config), [[triedAs("ours")]]);
    spoil((name) => join(root, name));
    await assert.rejects(lookUp(root, [image], config), words);
  });

test("the kubelet runs the script at each look-up, but only once for simultaneous look-ups of one image", async (t) => {
  const root = lay(t, ours, answer("ours"));
  const runs = join(root, "runs");
  // The script sleeps five seconds, so that the other look-ups arrive meanwhile.
  const counting = `#!/bin/sh\necho >>${runs}; sleep 5; exec cat "\${0%/*}/../answer.json"\n`;
  fs.writeFileSync(join(root, script), counting);
  const counted = async (images: readonly string[], atOnce: number) => {
    fs.writeFileSync(runs, "");
    const { lookups } = await register(root, images, { atOnce });
    assert.equal(lookups.length, images.length * atOnce);
    for (const { tries } of lookups) assert.deepEqual(tries, [triedAs("ours")]);
    return fs.readFileSync(runs).length;
  };
  assert.equal(await counted([image, image], 1), 2);
  assert.equal(await counted([image], 8), 1);
});

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { load } from "js-yaml";
import { sha256 } from "./archive.ts";
import { verify } from "./node.ts";
import { krewManifest, packPlugin } from "./plugin.ts";

type Platform = Readonly<{
  selector: object;
  uri: string;
  sha256: string;
  bin: string;
  files: readonly Readonly<{ from: string }>[];
}>;

test("packs the plugin with and without Node, and lists all files of each archive in krew's manifest", async (t) => {
  const root = temporary(t);
  const write = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  for (const path of ["LICENSE", "dist/LICENSES.txt", "dist/kubectl-pull_secret.cjs"])
    write(path, path);
  write("node/bin/node", '#!/bin/sh\necho "$@"\n');
  write("node/LICENSE", "Node's");
  const [own, plain] = ["own.tar.gz", "plain.tar.gz"].map((name) => join(root, name)) as [
    string,
    string,
  ];
  await packPlugin(root, own, 0, join(root, "node"));
  await packPlugin(root, plain, 0);
  const text = krewManifest("1.0.0", [
    { arch: "arm64", archive: own, uri: "own" },
    { archive: plain, uri: "plain" },
  ]);
  const { platforms } = (load(text) as { spec: { platforms: readonly Platform[] } }).spec;
  assert.deepEqual(
    platforms.map(({ selector, uri, sha256: sum, bin }) => [selector, uri, sum, bin]),
    [
      [{ matchLabels: { os: "linux", arch: "arm64" } }, "own", sha256(own), "kubectl-pull_secret"],
      [{ matchLabels: { os: "darwin" } }, "plain", sha256(plain), "kubectl-pull_secret"],
    ],
  );
  for (const [at, archive] of [own, plain].entries()) {
    const folder = join(root, String(at));
    mkdirSync(folder);
    assert.equal(spawnSync("tar", ["-C", folder, "-xzf", archive]).status, 0);
    const files = platforms[at]?.files.map(({ from }) => from) ?? [];
    assert.deepEqual(readdirSync(folder).toSorted(), files.toSorted());
    assert.equal(statSync(join(folder, "kubectl-pull_secret")).mode & 0o777, 0o755);
  }
  // We start the plugin through a link, because krew installs such a link.
  symlinkSync(join(root, "0/kubectl-pull_secret"), join(root, "link"));
  const { stdout } = spawnSync(join(root, "link"), ["status", "two words"], { encoding: "utf8" });
  assert.equal(stdout, `${join(root, "0/kubectl-pull_secret.cjs")} status two words\n`);
});

test("refuses a Node package that does not match the lock file", () => {
  const bytes = new TextEncoder().encode("node");
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  assert.doesNotThrow(() => verify(bytes, integrity, "node.tgz"));
  assert.throws(() => verify(bytes.subarray(1), integrity, "node.tgz"), /is not the file that/);
});

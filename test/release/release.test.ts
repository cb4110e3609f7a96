/**
 * Makes the release twice, from two checkouts, and checks its content. The tests copy the current
 * files, including uncommitted changes, into these checkouts and commit them there.
 */
import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { load } from "js-yaml";
import type { CycloneDx } from "#tools/release/boms/boms.ts";
import { sha256 } from "#tools/release/archive.ts";
import { readLayout } from "#tools/release/layout.ts";
import { run } from "../cluster/run.ts";
import { setUp } from "../cluster/setup.ts";
import { helm } from "../install/helm.ts";
import { writeBase } from "./base.ts";

const repository = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "release-"));
const base = join(folder, "base");
const url = "https://example.com/files";
const image = "registry.example.com/team/global-pull-secret";
const manifest = readFileSync(join(repository, "package.json"), "utf8");
const { version } = JSON.parse(manifest) as { version: string };

/** The same time and author, so that both commits have the same hash. */
const env: Record<string, string> = {
  ...(process.env as Record<string, string>),
  ...Object.fromEntries(
    ["AUTHOR", "COMMITTER"].flatMap((who) => [
      [`GIT_${who}_NAME`, "T"],
      [`GIT_${who}_EMAIL`, "t@example.com"],
      [`GIT_${who}_DATE`, "2026-01-02T00:00:00Z"],
    ]),
  ),
};

async function checkout(name: string): Promise<string> {
  const root = join(folder, name);
  const listed = await run(["git", "ls-files", "-co", "--exclude-standard"], { cwd: repository });
  for (const file of listed.split("\n")) {
    if (file === "" || !existsSync(join(repository, file))) continue;
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(join(repository, file), join(root, file));
  }
  const git = (...args: readonly string[]) => run(["git", ...args], { cwd: root, env });
  await git("init", "--quiet");
  await git("add", "--all");
  await git("commit", "--quiet", "--message=all");
  symlinkSync(join(repository, "node_modules"), join(root, "node_modules"));
  writeFileSync(join(root, ".git/info/exclude"), "node_modules\n");
  return root;
}

/** Makes the release of a checkout. Returns the release's folder. */
async function release(root: string): Promise<string> {
  const args = ["--base", base, "--url", url, "--image", image];
  await run([process.execPath, "tools/release/main.ts", ...args], { cwd: root });
  return join(root, `dist/release-${version}`);
}

let releaseFolder = "";
before(async () => {
  await writeBase(base);
  releaseFolder = await release(await checkout("one"));
});
after(() => rmSync(folder, { recursive: true }));

const read = (name: string): string => readFileSync(join(releaseFolder, name), "utf8");

test("makes the same bytes twice from one commit in two folders", async () => {
  const again = await release(await checkout("other"));
  assert.deepEqual(readdirSync(again), readdirSync(releaseFolder));
  for (const file of readdirSync(releaseFolder))
    assert.equal(sha256(join(again, file)), sha256(join(releaseFolder, file)), file);
});

test("lists every other file with its correct sum in SHA256SUMS", async () => {
  await run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], { cwd: releaseFolder });
  const named = read("SHA256SUMS")
    .trim()
    .split("\n")
    .map((line) => line.slice(66));
  assert.deepEqual(
    named,
    readdirSync(releaseFolder).filter((file) => file !== "SHA256SUMS"),
  );
  assert.deepEqual(named, [
    "CHANGES.md",
    "crds.yaml",
    `docs-${version}.tar.gz`,
    `global-pull-secret-${version}.oci.tar`,
    `global-pull-secret-${version}.tgz`,
    "image.cdx.json",
    "image.spdx.json",
    "install.yaml",
    `kubectl-pull_secret-${version}-linux-amd64.tar.gz`,
    `kubectl-pull_secret-${version}-linux-arm64.tar.gz`,
    `kubectl-pull_secret-${version}.tar.gz`,
    "npm.cdx.json",
    "npm.spdx.json",
    "pull-secret.yaml",
  ]);
});

test("builds the image for both architectures, and records its commit", async () => {
  const layout = join(folder, "unpacked");
  mkdirSync(layout);
  await run([
    "tar",
    "-C",
    layout,
    "-xf",
    join(releaseFolder, `global-pull-secret-${version}.oci.tar`),
  ]);
  const image = readLayout(layout);
  const revision = await run(["git", "rev-parse", "HEAD"], { cwd: join(folder, "one") });
  for (const { config } of image.platforms) {
    const labels = config.config.Labels ?? {};
    assert.equal(labels["org.opencontainers.image.version"], version);
    assert.equal(labels["org.opencontainers.image.revision"], revision.trim());
    assert.equal(labels["org.opencontainers.image.created"], "2026-01-02T00:00:00.000Z");
  }
  assert.deepEqual(
    image.platforms.map(({ architecture }) => architecture),
    ["amd64", "arm64"],
  );
  const { metadata, components } = JSON.parse(read("image.cdx.json")) as CycloneDx;
  assert.ok(String(metadata.component["purl"]).endsWith(encodeURIComponent(image.digest)));
  for (const name of ["zod", "dbus-next", "undici", "node"])
    assert.ok(
      components.some((component) => component.name === name),
      name,
    );
});

test("reports in one line why a checkout cannot be released, and names an unknown option", async () => {
  const root = join(folder, "one");
  const refused = async (line: RegExp, ...args: readonly string[]) =>
    await assert.rejects(
      run([process.execPath, "tools/release/main.ts", ...args], { cwd: root }),
      line,
    );
  await refused(/: Unknown option '--bas'/, "--bas", base);
  writeFileSync(join(root, "notes.txt"), "");
  await refused(/: notes\.txt: is in no commit; commit or remove it, then release$/);
  rmSync(join(root, "notes.txt"));
});

test("names the released image by its digest in install.yaml and the chart", async () => {
  const { digest } = readLayout(join(folder, "unpacked"));
  const expected = new Set([`${image}@${digest}`]);
  const images = (text: string) =>
    new Set(Array.from(text.matchAll(/^ +image: "?([^\s"]+)"?$/gm), ([, reference]) => reference));
  assert.deepEqual(images(read("install.yaml")), expected);
  const chart = join(releaseFolder, `global-pull-secret-${version}.tgz`);
  await helm(folder, "lint", "--strict", chart);
  assert.deepEqual(
    images(await helm(folder, "template", "gps", chart, "-n", "kube-system")),
    expected,
  );
  assert.match(
    await helm(folder, "show", "chart", chart),
    new RegExp(`^version: ${version}$`, "m"),
  );
});

test("has a krew manifest that fits the archive, which contains a plugin of kubectl", async () => {
  const krew = load(read("pull-secret.yaml")) as Krew;
  const { platforms } = krew.spec;
  assert.deepEqual(
    platforms.map(({ selector }) => selector.matchLabels),
    [{ os: "linux", arch: "amd64" }, { os: "linux", arch: "arm64" }, { os: "darwin" }],
  );
  const arch = process.arch === "x64" ? "amd64" : process.arch;
  const platform = platforms.find(({ selector }) => selector.matchLabels.arch === arch);
  assert.ok(platform);
  const archive = `kubectl-pull_secret-${version}-linux-${arch}.tar.gz`;
  assert.equal(krew.spec.version, `v${version}`);
  assert.ok(krew.spec.shortDescription.length <= 50, krew.spec.shortDescription);
  assert.equal(platform.uri, `${url}/${archive}`);
  assert.equal(platform.sha256, sha256(join(releaseFolder, archive)));

  // Like krew, unpacks the archive, copies the listed files, and links the program.
  const [unpacked, installed, bin] = ["unpacked-plugin", "installed", "bin"].map((name) =>
    join(folder, name),
  ) as [string, string, string];
  for (const path of [unpacked, installed, bin]) mkdirSync(path);
  await run(["tar", "-C", unpacked, "-xzf", join(releaseFolder, archive)]);
  for (const { from, to } of platform.files)
    cpSync(join(unpacked, from), join(installed, to, from));
  symlinkSync(join(installed, platform.bin), join(bin, "kubectl-pull_secret"));

  // The PATH has no Node.
  const path = [bin, "/usr/bin", "/bin"].join(delimiter);
  const usage = await run(["kubectl-pull_secret", "--help"], { env: { PATH: path } });
  assert.match(usage, /kubectl pull-secret/);
  const kubectl = (await setUp()).parts.path("kubectl");
  assert.equal(await run([kubectl, "pull-secret", "--help"], { env: { PATH: path } }), usage);
});

type Krew = Readonly<{
  spec: Readonly<{
    version: string;
    shortDescription: string;
    platforms: readonly Readonly<{
      selector: Readonly<{ matchLabels: Readonly<{ os: string; arch?: string }> }>;
      uri: string;
      sha256: string;
      bin: string;
      files: readonly Readonly<{ from: string; to: string }>[];
    }>[];
  }>;
}>;

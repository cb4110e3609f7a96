/** Compares docs/extend/fleet.md and docs/extend/hosted.md with manifests and tests. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { objectsOf, textOf, type KubeObject } from "../install/yaml.ts";

const root = join(import.meta.dirname, "../..");
const pageOf = (name: string) => readFileSync(join(root, "docs", name), "utf8");
const page = pageOf("extend/fleet.md");

type Kustomization = Readonly<{ resources?: readonly string[] }>;

/** Every object of a folder of manifests/, as its kustomization lists them. */
function objectsIn(folder: string): KubeObject[] {
  const { resources = [] } = load(textOf(join(folder, "kustomization.yaml"))) as Kustomization;
  return resources.flatMap((resource) =>
    resource.endsWith(".yaml")
      ? objectsOf(textOf(join(folder, resource)))
      : objectsIn(join(folder, resource)),
  );
}

/** Finds the page's table with this header. Returns each row as a list of cells. */
function rowsUnder(head: string, text = page): string[][] {
  const [, below = ""] = text.split(`\n${head}\n`);
  const [table = ""] = below.split("\n\n");
  const lines = table.trim().split("\n").slice(1);
  assert.ok(lines.length > 0, `no table ${head}`);
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Every text in a value, at any depth, except prose. */
function textsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") return ["description", "message"].includes(name) ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => textsIn(member, key));
}

for (const folder of ["fleet", "hosted"])
  test(`states on the page how many objects of each kind are in manifests/${folder}`, () => {
    const kinds = objectsIn(folder).map(({ kind }) => kind);
    const many = (kind: unknown) => kinds.filter((other) => other === kind).length;
    const counted = kinds.map((kind) => `${kind} ${many(kind)}`);
    const reported = rowsUnder("| kind | how many | what for |", pageOf(`extend/${folder}.md`)).map(
      ([kind, count]) => `${kind} ${count}`,
    );
    assert.deepEqual(new Set(reported), new Set(counted));
  });

test("grants the fleet's accounts only rights on kinds of Kubernetes, Cluster API, the cluster inventory, and our own", () => {
  const objects = objectsIn("fleet");
  const groups = objects.flatMap(({ rules }) =>
    (Array.isArray(rules) ? (rules as { apiGroups: string[] }[]) : []).flatMap(
      ({ apiGroups }) => apiGroups,
    ),
  );
  assert.deepEqual(
    new Set(groups),
    new Set([
      "",
      "cluster.x-k8s.io",
      "coordination.k8s.io",
      "globalpullsecret.io",
      "multicluster.x-k8s.io",
    ]),
  );
});

for (const folder of ["fleet", "hosted", "fleet/cluster-resource-set", "fleet/narrow/namespace"])
  test(`K11: manifests/${folder} pulls only our image, and names no host to contact`, () => {
    const objects = objectsIn(folder);
    const delivers = folder.includes("/");
    const images = new Set(imagesOf(objects).map((image) => image.replace(/:[\d.]+$/, "")));
    assert.deepEqual([...images], delivers ? [] : ["global-pull-secret"]);
    const hosts = /:\/\/|\.(?:com|io|net|org):\d|(?:docker|quay|gcr|ghcr)\.io/;
    assert.deepEqual(
      textsIn(objects).filter((text) => hosts.test(text)),
      [],
    );
  });

function imagesOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "image" && typeof member === "string" ? [member] : imagesOf(member),
  );
}

test("links from every answer to an objection on the page to an existing test", () => {
  const rows = rowsUnder("| objection to a credential on the nodes | answer | shown by |");
  for (const [objection, , shown = ""] of rows) {
    const [, file = ""] = /\]\(\.\.\/\.\.\/([^)]+\.test\.ts)\)/.exec(shown) ?? [];
    assert.ok(existsSync(join(root, file)) && file !== "", `${objection}: ${shown}`);
  }
});

test("uses the bench's row names on the page, and has no separate table", () => {
  const [, below = ""] = page.split("\n## What it costs\n");
  const [section = ""] = below.split("\n## ");
  assert.doesNotMatch(section, /^\|/m);
  const names = [...section.matchAll(/\*([^*]+)\*/g)].map(([, name = ""]) =>
    name.replace(/\s+/g, " "),
  );
  const bench = readFileSync(join(root, "bench/measurements/fleet.ts"), "utf8");
  assert.notEqual(names.length, 0);
  assert.deepEqual(
    names.filter((name) => !bench.includes(name.replace(/^100/, "${count}"))),
    [],
  );
});

test("K7, M4: the pages on fleets and on joined clusters name the tools for other resources", () => {
  for (const text of [page, pageOf("extend/clusters.md")])
    for (const tool of ["https://fluxcd.io", "https://argo-cd.readthedocs.io", "/sveltos/"])
      assert.ok(text.includes(tool), tool);
});

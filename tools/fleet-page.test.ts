/** What docs/fleet.md counts and answers, held against the manifests and the tests. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kustomizationOf, objectsOf, textOf, type KubeObject } from "./install/yaml.ts";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/fleet.md"), "utf8");

/** Every object of a folder of manifests/, as its kustomization lists them. */
function objectsIn(folder: string): KubeObject[] {
  return (kustomizationOf(folder).resources ?? []).flatMap((one) =>
    one.endsWith(".yaml") ? objectsOf(textOf(join(folder, one))) : objectsIn(join(folder, one)),
  );
}

/** Rows of the page's table with this head, each as its cells. */
function rowsUnder(head: string): string[][] {
  const [, below = ""] = page.split(`\n${head}\n`);
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

/** Every text in a value, however deep, but prose. */
function textsIn(value: unknown, name = ""): string[] {
  if (typeof value === "string") return ["description", "message"].includes(name) ? [] : [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => textsIn(one, key));
}

test("the pieces that the page counts are those of manifests/fleet, and the one program is one image", () => {
  const objects = objectsIn("fleet");
  const kinds = objects.map(({ kind }) => kind);
  const many = (kind: unknown) => kinds.filter((one) => one === kind).length;
  const counted = kinds.map((kind) => `${kind} ${many(kind)}`);
  const told = rowsUnder("| kind | how many | what for |").map(
    ([kind, count]) => `${kind} ${count}`,
  );
  assert.deepEqual(new Set(told), new Set(counted));
  // What it is granted beyond Kubernetes' own and ours is Cluster API's and the inventory's.
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

for (const folder of ["fleet", "hosted", "fleet/cluster-resource-set"])
  test(`K11: manifests/${folder} pulls no image but ours, and names no host to ask`, () => {
    const objects = objectsIn(folder);
    const delivers = folder.includes("/");
    assert.deepEqual([...new Set(imagesOf(objects))], delivers ? [] : ["global-pull-secret"]);
    const hosts = /:\/\/|\.(?:com|io|net|org):\d|(?:docker|quay|gcr|ghcr)\.io/;
    assert.deepEqual(
      textsIn(objects).filter((text) => hosts.test(text)),
      [],
    );
  });

function imagesOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) =>
    key === "image" && typeof one === "string" ? [one] : imagesOf(one),
  );
}

test("every answer to an objection on the page names a test that there is", () => {
  const rows = rowsUnder("| objection to a credential on the nodes | answer | shown by |");
  for (const [objection, , shown = ""] of rows) {
    const [, file = ""] = /\]\(\.\.\/([^)]+\.test\.ts)\)/.exec(shown) ?? [];
    assert.ok(existsSync(join(root, file)) && file !== "", `${objection}: ${shown}`);
  }
});

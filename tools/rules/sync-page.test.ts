/** Compares docs/extend/tenants.md with manifests, and checks its recipes, practices and links. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { manifests, objectsOf, textOf } from "../install/yaml.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/extend/tenants.md"), "utf8");
const commands = page.replaceAll("\\\n", "");

const practices = [
  "Immutable",
  "Rotation",
  "Scope",
  "Names",
  "Creation",
  "Usage",
  "Access audit",
  "RBAC",
  "Purpose",
  "Cleanup test",
  "Backup",
];

test("L32: lists eleven practices, each with instructions in one line", () => {
  const [, below = ""] = page.split("\n## Practices\n");
  const [list = ""] = below.trim().split("\n\n");
  const items = list.split(/^- /m).slice(1);
  const matches = items.map((item) => /^\*\*(.+)\*\*: (.{30,300})$/s.exec(item.trim()));
  assert.deepEqual(
    matches.map((item) => item?.[1]),
    practices,
  );
});

test("L31: reads the whole log of both pods in each log recipe, because only one pod is active", () => {
  const reported = Array.from(
    commands.matchAll(/kubectl --context (\w+) logs (.*?)(?: \| .*)?$/gm),
    ([, context = "", flags = ""]) => ({ context, flags: flags.trim() }),
  );
  assert.deepEqual(reported.map(({ context }) => context).toSorted(), ["management", "tenant"]);
  for (const { context, flags } of reported) {
    const objects = objectsOf(textOf(`sync/${context}/rendered.yaml`));
    const deployment = objects.find(({ kind }) => kind === "Deployment") ?? assert.fail(context);
    const { replicas, template } = deployment["spec"] as {
      replicas: number;
      template: { metadata: { labels: Record<string, string> } };
    };
    assert.equal(replicas, 2);
    const [[label, value] = [], ...others] = Object.entries(template.metadata.labels);
    assert.deepEqual(others, []);
    assert.equal(flags, `-n kube-system -l ${label}=${value} --tail=-1`);
  }
});

test("links within the page only to existing headings", () => {
  const headings = Array.from(page.matchAll(/^#+ (.*)$/gm), ([, words = ""]) => words);
  const anchors = new Set(
    headings.map((words) =>
      words
        .toLowerCase()
        .replaceAll(/[^a-z0-9 -]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
  const links = Array.from(page.matchAll(/\]\(#([^)]+)\)/g), ([, anchor = ""]) => anchor);
  assert.ok(links.length >= 4);
  for (const anchor of links) assert.ok(anchors.has(anchor), anchor);
});

test("L20: keeps the CRD when kubectl delete -k removes the tenant's side, so that no object waits for a stopped program", () => {
  // A folder in the list could contain a CRD.
  assert.match(textOf("sync/tenant/kustomization.yaml"), /^resources: \[rendered\.yaml\]$/m);
  for (const { kind } of objectsOf(textOf("sync/tenant/rendered.yaml")))
    assert.notEqual(kind, "CustomResourceDefinition");
});

test("gives none of our accounts the right to write Roles or RoleBindings outside kube-system", () => {
  const files = globSync("**/{rendered,role}.yaml", { cwd: manifests });
  const writers = files.flatMap((file) =>
    objectsOf(textOf(file)).flatMap(({ kind, metadata, rules }) => {
      if (!kind.endsWith("Role")) return [];
      const writes = (rules as { resources?: string[]; verbs: string[] }[]).some(
        (rule) =>
          rule.resources?.some((resource) => /^(?:cluster)?role(?:binding)?s$/.test(resource)) ===
            true && rule.verbs.some((verb) => !["get", "list", "watch"].includes(verb)),
      );
      return writes ? [`${kind} ${metadata.namespace} ${metadata.name}`] : [];
    }),
  );
  assert.ok(files.length > 6);
  assert.deepEqual(writers, ["Role kube-system global-pull-secret-controller"]);
});

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { loadAll } from "js-yaml";
import { definition, installation } from "./objects.ts";

type Document = Readonly<{
  apiVersion?: string;
  kind?: string;
  metadata?: Readonly<{ name?: string; namespace?: string }>;
}> | null;

/** Documents that only kustomize reads. */
const ofKustomize = /^kustomize\.config\.k8s\.io\//;

/**
 * Manifests whose objects `uninstall` does not delete. A fleet's controller is a separate
 * installation, which you remove after its FleetSecrets. A hosted controller runs in another
 * cluster.
 */
const others = [
  "manifests/fleet/**",
  "manifests/crds/fleetsecrets/**",
  "manifests/sync/**",
  "manifests/crds/syncsecrets/**",
  "manifests/hosted/**",
  "manifests/components/monitoring-*/**",
];

/** `Kind name` of every object in manifests/. The chart's templates create the same objects. */
function made(): ReadonlySet<string> {
  const exclude = ["manifests/argocd/**", "manifests/chart/**", ...others];
  const files = globSync("manifests/**/*.yaml", { exclude });
  const documents = files.flatMap((file) => {
    return loadAll(readFileSync(file, "utf8")) as Document[];
  });
  const found = documents.flatMap((one) => {
    const name = one?.metadata?.name;
    return name === undefined || ofKustomize.test(one?.apiVersion ?? "")
      ? []
      : [`${one?.kind} ${name}`];
  });
  return new Set(found);
}

test("uninstall deletes exactly the objects of manifests/ and the Lease", () => {
  const known = [...installation, definition].map(({ kind, name }) => `${kind} ${name}`);
  assert.deepEqual(
    known.filter((one) => !one.startsWith("Lease ")).toSorted(),
    [...made()].toSorted(),
    "list the object in plugin/removal/objects.ts, in the order of removal",
  );
});

test("uninstall deletes programs before their rights, and each object once", () => {
  const names = installation.map(({ kind, name }) => `${kind} ${name}`);
  assert.equal(new Set(names).size, names.length);
  assert.ok(names.findIndex((one) => one.startsWith("Deployment ")) <= 1);
  for (const { path, name } of installation) assert.ok(path.endsWith(`/${name}`), path);
});

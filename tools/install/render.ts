/**
 * Renders the chart for kustomize, so that `kubectl apply -k manifests` needs no Helm. A test fails
 * if a rendered file is outdated. `npm run render` writes all of them. It needs Go, with which it
 * builds Helm once.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chart, helm } from "#test/install/helm.ts";
import { manifests } from "./yaml.ts";

/** Stands for the namespace that an overlay sets. The rendered file has none. */
const ofOverlay = "namespace-of-the-overlay";

/** Rendered file, below manifests/ → the arguments of `helm template`. */
const files: Readonly<Record<string, readonly string[]>> = {
  "base/rendered.yaml": [],
  "hosted/rendered.yaml": ["--set=role=Hosted", `--namespace=${ofOverlay}`],
  "fleet/rendered.yaml": ["--set=role=Fleet"],
  "fleet/cluster-resource-set/rendered.yaml": [
    "--set=role=Fleet",
    "--set=fleet.clusterResourceSet=true",
    "--show-only=templates/fleet-resource-set.yaml",
  ],
  "sync/management/rendered.yaml": ["--set=role=SyncManagement"],
  "sync/tenant/rendered.yaml": [
    "--set=role=SyncTenant",
    "--set=syncTenant.managementNamespace=tenant-a",
  ],
};

const common = [
  "--namespace=kube-system",
  "--set=image.repository=global-pull-secret",
  "--set=hooks.enabled=false",
];

const head = "# Rendered from manifests/chart by npm run render.\n";

/** Labels that describe a release of Helm. */
const ofRelease =
  /^ {4}(?:helm\.sh\/chart|app\.kubernetes\.io\/(?:instance|managed-by|part-of|version)): .*\n/gm;

/** The CRDs are separate, and `kubectl apply` can create their objects only in a second command. */
const isLeftOut = (document: string): boolean =>
  /^# Source: global-pull-secret\/templates\/(?:crd|globalpullsecret)\.yaml$/m.test(document);

/** Rendered file, below manifests/ → its text. */
export async function rendered(): Promise<Readonly<Record<string, string>>> {
  const texts: Record<string, string> = {};
  for (const [file, args] of Object.entries(files)) {
    const text = await helm(tmpdir(), "template", "gps", chart, ...common, ...args);
    const documents = text
      .split(/^---\n/m)
      .filter((document) => document !== "" && !isLeftOut(document));
    texts[file] = `${head}${documents.join("---\n")}`
      .replaceAll(ofRelease, "")
      .replaceAll(new RegExp(`^ +namespace: ${ofOverlay}\\n`, "gm"), "");
  }
  return texts;
}

if (import.meta.main)
  for (const [file, text] of Object.entries(await rendered()))
    writeFileSync(join(manifests, file), text);

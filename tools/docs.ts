/**
 * Files derived from other files: pages of docs/ from the code, types of lib/api/ from the CRD,
 * admission policies from the agents' template, parts of the chart from manifests/, the plugin's
 * version from package.json. `npm run docs` writes them; a test compares them, so they cannot
 * drift.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { codesPage } from "#contract/help.ts";
import { apiTypes, fleetTypes, syncTypes } from "./definition/api.ts";
import { plugin } from "./pages/plugin.ts";
import { boundsFiles } from "./install/bounds.ts";
import { chartParts } from "./install/chart.ts";
import { monitoringParts } from "./install/monitoring.ts";
import { promisesPage } from "./pages/promises-page.ts";
import { reasonsPage } from "./pages/reasons.ts";
import { fleetReference, reference, syncReference } from "./pages/reference.ts";
import { configurationPage } from "./pages/configuration.ts";
import { errorsPage } from "./pages/errors.ts";
import { metricsPage } from "./pages/metrics.ts";
import { wrapped } from "./pages/markdown.ts";

/** File → its whole text. */
export function pages(): Readonly<Record<string, string>> {
  const all = written();
  return Object.fromEntries(
    Object.entries(all).map(([file, text]) => [file, file.endsWith(".md") ? wrapped(text) : text]),
  );
}

function written(): Readonly<Record<string, string>> {
  return {
    [codesPage]: errorsPage(),
    "docs/reference/configuration.md": configurationPage(),
    "docs/reference/metrics.md": metricsPage(),
    "docs/reference/promises.md": promisesPage(),
    "docs/reference/plugin.md": plugin(),
    "lib/api/global-pull-secret.ts": apiTypes(),
    "docs/reference/globalpullsecret.md": reference(),
    "docs/reference/reasons.md": reasonsPage(),
    "lib/api/fleet-secret.ts": fleetTypes(),
    "docs/reference/fleetsecret.md": fleetReference(),
    "lib/api/sync-secret.ts": syncTypes(),
    "docs/reference/syncsecret.md": syncReference(),
    "plugin/terminal/version.ts": versionOf(readFileSync("package.json", "utf8")),
    ...Object.fromEntries(
      Object.entries(boundsFiles()).map(([file, text]) => [`manifests/${file}`, text]),
    ),
    ...monitoringParts(),
    ...chartParts(),
  };
}

/** The version as code: the bundle has no package.json beside it. */
function versionOf(manifest: string): string {
  const { version } = JSON.parse(manifest) as { version: string };
  return `/** Of package.json; written by npm run docs. */
export const version = ${JSON.stringify(version)};
`;
}

if (import.meta.main) for (const [file, text] of Object.entries(pages())) writeFileSync(file, text);

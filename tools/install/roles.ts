/**
 * The roles that use each value of the chart. The chart refuses a value that the release's role
 * does not use.
 */
import { load } from "js-yaml";
import { textOf } from "./yaml.ts";

export const roles = ["Cluster", "Hosted", "Fleet", "SyncManagement", "SyncTenant"] as const;

export type Role = (typeof roles)[number];

/** Value → the roles that use it. All roles use the values that are not in this table. */
export const usedBy: Readonly<Record<string, readonly Role[]>> = {
  crds: ["Cluster", "Fleet", "SyncManagement", "SyncTenant"],
  policy: ["Cluster"],
  original: ["Cluster"],
  extraSources: ["Cluster"],
  flags: ["Cluster", "Hosted"],
  bounds: ["Cluster"],
  networkPolicy: ["Cluster"],
  admission: ["Cluster"],
  annotated: ["Cluster"],
  hosted: ["Hosted"],
  fleet: ["Fleet"],
  syncTenant: ["SyncTenant"],
  uninstall: ["Cluster"],
};

/** `role Fleet`, or `roles Cluster and Hosted`. */
export const named = (its: readonly Role[]): string =>
  its.length === 1 ? `role ${its[0]}` : `roles ${its.slice(0, -1).join(", ")} and ${its.at(-1)}`;

/** `Role Fleet: ` for a value that only some roles use; otherwise empty. */
export function prefixOf(value: string): string {
  const its = usedBy[value];
  return its === undefined ? "" : `${named(its).replace("r", "R")}: `;
}

/**
 * templates/_roles.tpl: this table for checks.yaml, with the defaults of values.yaml. A template
 * cannot read values.yaml; it gets only the values into which a user's values are already merged.
 */
export function rolesTemplate(): string {
  const defaults = load(textOf("chart/values.yaml")) as Record<string, unknown>;
  const rows = Object.entries(usedBy).map(([value, its]) => {
    const row = { named: named(its), roles: its, default: defaults[value] };
    return `  ${JSON.stringify(value)}: ${JSON.stringify(row)}`;
  });
  return `{{- /* Written from tools/install/roles.ts by npm run docs. */}}
{{- define "global-pull-secret.roles" -}}
{
${rows.join(",\n")}
}
{{- end }}
`;
}

/** The chart's README.md, which `helm show readme` prints: installation, and the values. */
import { load } from "js-yaml";
import { textOf } from "./yaml.ts";
import { chartValues } from "./values-schema.ts";

type Described = Readonly<{
  description: string;
  properties?: Readonly<Record<string, Described>>;
}>;

type Row = readonly [path: string, value: string, description: string];

/** One row for each value. Other pages list the fields of `policy` and `flags`. */
function rowsOf({ properties = {} }: Described, values: unknown, above: string): readonly Row[] {
  return Object.entries(properties).flatMap(([name, property]) => {
    const value = (values as Readonly<Record<string, unknown>> | undefined)?.[name];
    const path = `${above}${name}`;
    const isGroup = property.properties !== undefined && Object.keys(value ?? {}).length > 0;
    if (isGroup) return rowsOf(property, value, `${path}.`);
    const shown = value === undefined ? "unset" : `\`${JSON.stringify(value)}\``;
    return [[`\`${path}\``, shown, property.description] as const];
  });
}

/** Escapes vertical bars, which would end the cell. */
const cell = (text: string): string => text.replaceAll("|", "\\|");

export function chartReadme(): string {
  const values = load(textOf("chart/values.yaml"));
  const rows = rowsOf(chartValues, values, "").map((row) => `| ${row.map(cell).join(" | ")} |\n`);
  return `${intro}\n| value | default | meaning |\n| --- | --- | --- |\n${rows.join("")}`;
}

const intro = `# global-pull-secret

After this page you can install, test and uninstall the chart. It gives every node of a Kubernetes
cluster the same registry credential, from one Secret, and requires Kubernetes 1.31 or newer.

\`\`\`sh
helm install gps ./manifests/chart -n kube-system --set image.repository=registry.example.com/public/global-pull-secret
helm test gps -n kube-system                      # waits until the nodes have the pull secret; fails without one
helm uninstall gps -n kube-system --timeout 6m    # the nodes first, then the release
\`\`\`

The release has to be in kube-system, unless \`role\` is \`Hosted\`. docs/use/install.md explains how to
upgrade, docs/use/uninstall.md how Helm, Flux and Argo CD uninstall it, and docs/reference/configuration.md
the controller's flags, which are \`flags.*\` here.

## Values
`;

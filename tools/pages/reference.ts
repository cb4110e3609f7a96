/** Pages in docs/reference/ with the fields of our objects, from their CRDs. */
import {
  fieldsOf,
  fleetCrdFile,
  meaningOf,
  nodeCrdFile,
  onlyVersion,
  ourCrd,
  syncCrdFile,
  type Crd,
  type Field,
  type Schema,
} from "../definition/crd.ts";
import { table, type Row } from "./markdown.ts";

/** docs/reference/globalpullsecret.md. */
export const reference = (): string =>
  pageOf(ourCrd(), {
    place: "short name `gps`, cluster-scoped",
    explain: "gps",
    status: "[Operate](../use/operate.md) explains the conditions.",
  });

/** docs/reference/nodepullsecret.md. */
export const nodeReference = (): string =>
  pageOf(ourCrd(nodeCrdFile), {
    place: "short name `nps`, in kube-system, one for each node, with the node's name",
    explain: "nps",
    status: "[Troubleshooting](../use/troubleshoot.md) explains what to do with a result.",
  });

/** docs/reference/fleetsecret.md. */
export const fleetReference = (): string =>
  pageOf(ourCrd(fleetCrdFile), {
    place: "namespaced",
    explain: "fleetsecret",
    status: "[Many clusters](../extend/fleet.md) explains its use.",
  });

/** docs/reference/syncsecret.md. */
export const syncReference = (): string =>
  pageOf(ourCrd(syncCrdFile), {
    place: "namespaced",
    explain: "syncsecret",
    status: "[Tenants' secrets](../extend/tenants.md) explains its use.",
  });

type Words = Readonly<{ place: string; explain: string; status: string }>;

function pageOf(crd: Crd, { place, explain, status }: Words): string {
  const { schema, apiVersion } = onlyVersion(crd);
  const fields = fieldsOf(schema);
  const below = (part: string) => fields.filter(({ path }) => path.startsWith(`${part}.`));
  // Like a Secret, a SyncSecret has no spec.
  const flat = fields.filter(({ path }) => !/^(?:$|apiVersion$|kind$|metadata$|status)/.test(path));
  const spec = below("spec").length > 0 ? below("spec") : flat;
  return `# ${crd.spec.names.kind}

\`${apiVersion}\`, ${place}. ${schema.description ?? ""}
\`kubectl explain ${explain} --recursive\` prints the same.

## ${spec === flat ? "content" : "spec"}

${tableOf(spec)}

## status

${tableOf(below("status"))}

${status}
`;
}

/**
 * Leaves out fields that Kubernetes defines, the fields of an entry that an earlier list has as
 * well, and the entries of lists as a whole, because the row of the list describes them.
 */
function tableOf(fields: readonly Field[]): string {
  const lists = new Map<string, string>();
  const hidden: string[] = [];
  const rows: Row[] = [];
  for (const { path, schema } of fields) {
    if (path.endsWith("[]") || hidden.some((prefix) => path.startsWith(prefix))) continue;
    const entry = JSON.stringify(schema.items?.properties);
    const same = entry === undefined ? undefined : lists.get(entry);
    if (entry !== undefined && same === undefined) lists.set(entry, path);
    const isSelector = schema.properties?.["matchExpressions"] !== undefined;
    const isCondition = schema.items?.properties?.["lastTransitionTime"] !== undefined;
    const notes = [
      isSelector && "A label selector.",
      isCondition && "Fields as in every Kubernetes condition.",
      !isCondition && same !== undefined && `Entries have the fields of \`${same}\`.`,
    ].filter((note) => note !== false);
    if (notes.length > 0) hidden.push(`${path}.`, `${path}[]`);
    if (schema.description === undefined) continue;
    rows.push([`\`${path}\``, kindOf(schema), [meaningOf(schema, "`"), ...notes].join(" ")]);
  }
  return table(["field", "type", "meaning"], rows);
}

function kindOf(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "integer or string";
  if (schema.enum !== undefined) return schema.enum.map((choice) => `\`${choice}\``).join(", ");
  return schema.type === "array" ? "list" : String(schema.type);
}

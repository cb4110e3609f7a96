/** docs/reference/globalpullsecret.md: the fields of GlobalPullSecret, from its definition. */
import { fieldsOf, meaningOf, onlyVersion, ourCrd, type Field, type Schema } from "./crd.ts";
import { table } from "./markdown.ts";

export function reference(): string {
  const crd = ourCrd();
  const { schema, apiVersion } = onlyVersion(crd);
  const fields = fieldsOf(schema);
  const below = (part: string) => fields.filter(({ path }) => path.startsWith(`${part}.`));
  return `# ${crd.spec.names.kind}

\`${apiVersion}\`, short name \`gps\`, cluster-scoped, one only: \`cluster\`. ${schema.description ?? ""}
The same words are in \`kubectl explain gps --recursive\`.

## spec

${tableOf(below("spec"))}

## status

${tableOf(below("status"))}

What the conditions mean: [status](../status.md).
`;
}

function tableOf(fields: readonly Field[]): string {
  const rows = fields
    .filter(({ schema }) => schema.description !== undefined)
    .map(({ path, schema }) => [`\`${path}\``, kindOf(schema), meaningOf(schema, "`")]);
  return table(["field", "type", "meaning"], rows);
}

function kindOf(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"] === true) return "integer or string";
  if (schema.enum !== undefined) return schema.enum.map((one) => `\`${one}\``).join(", ");
  return schema.type === "array" ? "list" : String(schema.type);
}

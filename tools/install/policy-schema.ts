/** The schema of `policy` in values.schema.json: the spec of GlobalPullSecret, from the CRD. */
import { onlyVersion, ourCrd, type Schema } from "../definition/crd.ts";

type Rule = Readonly<{ rule: string }>;
type CrdSchema = Schema & Readonly<{ "x-kubernetes-validations"?: readonly Rule[] }>;

/** Finds the pattern in a CEL rule. CEL's and Helm's patterns have the same syntax, RE2. */
const pattern = /self\.matches\('((?:[^'\\]|\\.)*)'\)/;
/** Finds the bounds of integers in a CEL rule. */
const bounds = /self >= (-?\d+) && self <= (-?\d+)/;

/** Keywords with the same meaning in CRDs and for helm. */
const same = ["type", "enum", "minLength", "maxLength", "maxItems", "minimum", "maximum"] as const;

/**
 * The JSON schema of a field: its types and limits, and the patterns and bounds in its CEL rules.
 * Other rules, such as that a duration is at most 1h, are only checked by the API server.
 */
function fieldSchema(field: CrdSchema): Record<string, unknown> & { description: string } {
  const { description = "", properties, items, required } = field;
  const copied = same.flatMap((key) => {
    const value = (field as Record<string, unknown>)[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const rules = (field["x-kubernetes-validations"] ?? []).map(({ rule }) => rule);
  const both = field["x-kubernetes-int-or-string"] === true;
  const isText = field.type === "string" || both;
  const texts = isText ? rules.flatMap((rule) => pattern.exec(rule)?.[1] ?? []) : [];
  const [, least, most] = (both && bounds.exec(rules.join("\n"))) || [];
  return {
    description,
    ...Object.fromEntries(copied),
    ...(both && { type: ["string", "integer"] }),
    ...(least !== undefined && { minimum: Number(least), maximum: Number(most) }),
    // Removes the escapes that the pattern needs as a quoted text in CEL.
    ...(texts[0] !== undefined && { pattern: texts[0].replace(/\\(.)/g, "$1") }),
    ...(items && { items: fieldSchema(items) }),
    ...(properties && {
      additionalProperties: false,
      ...(required && { required }),
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, fieldSchema(property)]),
      ),
    }),
  };
}

/** The schema of `policy`, with the description that values.yaml shows. */
export function policySchema(description: string): ReturnType<typeof fieldSchema> {
  const spec = onlyVersion(ourCrd()).schema.properties?.["spec"] ?? {};
  return { ...fieldSchema(spec), description };
}

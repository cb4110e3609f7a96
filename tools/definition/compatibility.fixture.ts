/**
 * Whether a CRD only adds to an older CRD: accepted objects stay accepted and keep their meaning.
 * Therefore an upgrade breaks no object, and a downgrade can read all objects. Pure.
 */
import { fieldsOf, type Schema } from "./crd.ts";

/** Keywords that must not change after a release. */
const fixed = [
  "type",
  "format",
  "default",
  "pattern",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  "x-kubernetes-int-or-string",
] as const;
const upperBounds = ["maxLength", "maxItems", "maxProperties", "maximum"] as const;
const lowerBounds = ["minLength", "minItems", "minProperties", "minimum"] as const;

type Keyword =
  | (typeof fixed)[number]
  | (typeof upperBounds)[number]
  | (typeof lowerBounds)[number]
  | "x-kubernetes-validations";

/**
 * Each reason why `after` is not additive, as a sentence with the field's path; empty if `after`
 * is additive.
 */
export function notAdditive(before: Schema, after: Schema): string[] {
  const now = new Map(fieldsOf(after).map(({ path, schema }) => [path, schema]));
  return fieldsOf(before).flatMap(({ path, schema: old }) => {
    const present = now.get(path);
    return present === undefined ? [`${path}: is removed`] : narrowed(path, old, present);
  });
}

function narrowed(path: string, old: Schema, present: Schema): string[] {
  const was = (keyword: Keyword) => (old as Record<string, unknown>)[keyword];
  const is = (keyword: Keyword) => (present as Record<string, unknown>)[keyword];
  const text = (keyword: Keyword) => JSON.stringify(is(keyword)) ?? "none";
  const rules = (all: unknown) => ((all ?? []) as { rule: string }[]).map(({ rule }) => rule);
  const oldRules = rules(was("x-kubernetes-validations"));
  const problems = [
    ...fixed
      .filter((keyword) => JSON.stringify(was(keyword)) !== JSON.stringify(is(keyword)))
      .filter((keyword) => keyword !== "x-kubernetes-map-type" || !hasOneField(old))
      .map((keyword) => `${keyword} changes to ${text(keyword)}`),
    ...upperBounds
      .filter((keyword) => bound(is(keyword), Infinity) < bound(was(keyword), Infinity))
      .map((keyword) => `${keyword} falls to ${text(keyword)}`),
    ...lowerBounds
      .filter((keyword) => bound(is(keyword), -Infinity) > bound(was(keyword), -Infinity))
      .map((keyword) => `${keyword} rises to ${text(keyword)}`),
    ...(present.required ?? [])
      .filter((name) => old.required?.includes(name) !== true)
      .map((name) => `${name} becomes required`),
    ...rules(is("x-kubernetes-validations"))
      .filter((rule) => !oldRules.includes(rule) && !isOfNewField(rule, old))
      .map((rule) => `a rule is new: ${rule}`),
    ...lostValues(old.enum, present.enum),
  ];
  return problems.map((problem) => `${path}: ${problem}`);
}

/** True if the rule is about a field that the old CRD lacks. No accepted object has that field. */
function isOfNewField(rule: string, old: Schema): boolean {
  const [, field = ""] = /^!has\(self\.(\w+)\) \|\| /.exec(rule) ?? [];
  return field !== "" && old.properties?.[field] === undefined;
}

/** True if two clients cannot each own a part of the object, however objects are merged. */
const hasOneField = ({ properties = {} }: Schema): boolean => Object.keys(properties).length === 1;

const bound = (value: unknown, none: number) => (typeof value === "number" ? value : none);

function lostValues(old: Schema["enum"], present: Schema["enum"]): string[] {
  if (present === undefined) return [];
  if (old === undefined) return ["is bound to a list of values"];
  return old
    .filter((choice) => !present.includes(choice))
    .map((choice) => `${choice} is no longer a value`);
}

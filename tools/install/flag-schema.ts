/**
 * For values.schema.json: a schema for each controller flag, which accepts the same values as the
 * flag's reader.
 */
import { label, annotation, selector } from "#controller/policy/labels.ts";
import { priorityClass } from "#controller/policy/pod.ts";
import { limits, resources } from "#controller/policy/resources.ts";
import { budget, deliveryModes, pullSecretName } from "#controller/policy/values.ts";
import { deliveryModes as allModes } from "#contract/names.ts";
import {
  appArmorProfile,
  boundsOf,
  choicesOf,
  directory,
  ip,
  selinuxType,
  unit,
} from "#contract/values.ts";
import type { Flag } from "#contract/table.ts";
import { protectable } from "#pullsecret/merge/protect.ts";

/** Names that the API server accepts, for example for a Secret. */
export const namePattern = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$";

/** The pattern of a list whose items, separated by commas, match `pattern`. */
const listOf = (pattern: string): string => `\\s*(${pattern})\\s*(,\\s*(${pattern})\\s*)*`;

const key = "([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const labelValue = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?";
const quantity =
  "(cpu|memory|ephemeral-storage)=[0-9]{1,9}(\\.[0-9]{1,3})?(m|k|[MGTPE]|[KMGTPE]i)?";
const quantities = { type: "string", pattern: `^(${listOf(quantity)})?$` };

/**
 * Reader → its schema for helm. Helm compiles patterns with Go's regexp, which has no lookahead or
 * lookbehind. Only the controller refuses mistakes that such a pattern cannot express, such as a
 * limit that is too low.
 */
const patterns = new Map<Flag["read"], object>([
  [unit, { type: "string", pattern: "^(auto|[A-Za-z0-9:_.\\\\@-]+\\.service)$", maxLength: 255 }],
  [ip, { type: "string", pattern: "^(auto|[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$" }],
  [selinuxType, { type: "string", pattern: "^([a-z][a-z0-9_]{0,62})?$" }],
  [
    appArmorProfile,
    {
      type: "string",
      pattern: "^(Unconfined|RuntimeDefault|Localhost/[A-Za-z0-9._/-]{1,200})$",
    },
  ],
  // Refuses a path in which a part is `.` or `..`.
  [directory, { type: "string", pattern: "^(/(\\.{0,2}[^./:][^/:]*|\\.{3,}[^/:]*))+$" }],
  [
    budget,
    {
      type: ["string", "integer"],
      pattern: "^([1-9][0-9]{0,5}|([1-9][0-9]?|100)%)$",
      minimum: 1,
      maximum: 999_999,
    },
  ],
  [deliveryModes, { type: "string", pattern: `^${listOf(allModes.join("|"))}$` }],
  [protectable, { type: "string", pattern: "^[^/\\s]+(/[^*\\s]*)?$" }],
  [pullSecretName, { type: "string", pattern: namePattern }],
  [priorityClass, { type: "string", pattern: `^$|${namePattern}` }],
  [label, { type: "string", pattern: `^${key}=${labelValue}$` }],
  [annotation, { type: "string", pattern: `^${key}=` }],
  [selector, { type: "string", pattern: "^[-A-Za-z0-9_./=!,()\\s]*$" }],
  [resources, quantities],
  [limits, quantities],
]);

/** The schema of one value of the flag, without a description. */
function valueSchema({ read }: Flag): object {
  const choices = choicesOf(read);
  if (choices.length > 0) return { type: "string", enum: choices };
  const bounds = boundsOf(read);
  if (bounds !== undefined) return { type: "integer", minimum: bounds.least, maximum: bounds.most };
  return patterns.get(read) ?? { type: "string" };
}

/** The schema of the flag as a value of the chart. */
export function flagSchema(flag: Flag): { description: string } & Record<string, unknown> {
  const { what, standard, repeated } = flag;
  const description = `${what}.${standard === undefined ? "" : ` Default: ${standard || "none"}.`}`;
  const value = valueSchema(flag);
  return repeated ? { description, type: "array", items: value } : { description, ...value };
}

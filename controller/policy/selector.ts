/**
 * A label selector in kubectl's syntax. One text says which nodes get an agent: it becomes the
 * DaemonSet's node affinity, and the controller lists the very same Nodes with it.
 */
import { Wrong } from "#contract/values.ts";
import { isKey, isLabelValue } from "./labels.ts";

/** One expression of a node affinity. It has `values` only where the operator takes some. */
type Requirement = Readonly<{
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: readonly string[];
}>;

/**
 * A parsed selector. `text` is written from what was understood, so that nothing else reaches a
 * request.
 */
export type Selector = Readonly<{ text: string; requirements: readonly Requirement[] }>;

const operators = { "=": "In", "==": "In", "!=": "NotIn", in: "In", notin: "NotIn" } as const;

/** Reads expressions separated by commas; an empty text selects everything. */
export function selector(given: string): Selector | Wrong {
  const parts = given.trim() === "" ? [] : given.split(/,(?![^(]*\))/);
  const requirements: Requirement[] = [];
  for (const part of parts) {
    const one = requirement(part.trim());
    if (one === undefined)
      return new Wrong(
        "is no label selector; give one such as 'zone in (a,b),!example.com/tainted'",
      );
    requirements.push(one);
  }
  return { text: requirements.map(textOf).join(","), requirements };
}

function requirement(part: string): Requirement | undefined {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  const [, key = "", sign = "", text = ""] =
    set ?? /^([^!=\s]+)\s*(==|!=|=)\s*(\S*)$/.exec(part) ?? [];
  if (sign in operators) {
    const values = (set === null ? [text] : text.split(",")).map((one) => one.trim());
    const operator = operators[sign as keyof typeof operators];
    return isKey(key) && values.every(isLabelValue) ? { key, operator, values } : undefined;
  }
  const absent = part.startsWith("!");
  const name = absent ? part.slice(1).trim() : part;
  return isKey(name) ? { key: name, operator: absent ? "DoesNotExist" : "Exists" } : undefined;
}

function textOf({ key, operator, values = [] }: Requirement): string {
  if (operator === "Exists") return key;
  if (operator === "DoesNotExist") return `!${key}`;
  return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
}

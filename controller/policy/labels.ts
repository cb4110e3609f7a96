/**
 * Reads the labels, annotations and the node selector that an installer sets for the agents' pods.
 */
import { agentLabels } from "#contract/names.ts";
import { Wrong } from "#contract/values.ts";
import { ownerLabels } from "#kube/client/ownership.ts";

/**
 * The name of a label or annotation, as the API server accepts it: an optional domain, and then at
 * most 63 characters.
 */
const key =
  /^(?:(?=.{1,253}\/)[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const value = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** Our own names, and names that the DaemonSet controller writes. */
const reserved = /^globalpullsecret\.io\//;
const reservedLabels = new Set([
  ...Object.keys(agentLabels),
  ...Object.keys(ownerLabels),
  "controller-revision-hash",
  "pod-template-generation",
]);

export type LabelPair = readonly [key: string, value: string];

const isKey = (text: string) => key.test(text);
const isLabelValue = (text: string) => value.test(text);

/** Reads `KEY=VALUE` for a label, in the syntax of `kubectl label`. */
export function label(text: string): LabelPair | Wrong {
  const pair = keyAndValue(text);
  if (pair instanceof Wrong) return pair;
  if (reservedLabels.has(pair[0]))
    return new Wrong("is a label of this product; choose another name");
  return isLabelValue(pair[1]) ? pair : new Wrong("has a value that is not valid for a label");
}

/** Reads `KEY=VALUE` for an annotation. Any value is valid. */
export function annotation(text: string): LabelPair | Wrong {
  return keyAndValue(text);
}

function keyAndValue(text: string): LabelPair | Wrong {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(at, 0));
  if (!isKey(name)) return new Wrong("is not KEY=VALUE (example: example.com/team=platform)");
  if (reserved.test(name))
    return new Wrong("begins like a name of this product; choose another name");
  return [name, text.slice(at + 1)];
}

/** One expression of a node affinity. It has `values` only if the operator needs values. */
type Requirement = Readonly<{
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: readonly string[];
}>;

/**
 * A parsed label selector in kubectl's syntax. It becomes the DaemonSet's node affinity, and the
 * controller lists the same Nodes with `text`. `text` is written from the parsed parts, so no other
 * input reaches a request.
 */
export type Selector = Readonly<{ text: string; requirements: readonly Requirement[] }>;

const operators = { "=": "In", "==": "In", "!=": "NotIn", in: "In", notin: "NotIn" } as const;

/** Reads expressions separated by commas. An empty text selects everything. */
export function selector(text: string): Selector | Wrong {
  const parts = text.trim() === "" ? [] : text.split(/,(?![^(]*\))/);
  const requirements: Requirement[] = [];
  for (const part of parts) {
    const parsed = requirement(part.trim());
    if (parsed === undefined)
      return new Wrong("is not a label selector (example: 'zone in (a,b),!example.com/tainted')");
    requirements.push(parsed);
  }
  return { text: requirements.map(textOf).join(","), requirements };
}

function requirement(part: string): Requirement | undefined {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  const [, key = "", sign = "", text = ""] =
    set ?? /^([^!=\s]+)\s*(==|!=|=)\s*(\S*)$/.exec(part) ?? [];
  if (sign in operators) {
    const values = (set === null ? [text] : text.split(",")).map((element) => element.trim());
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

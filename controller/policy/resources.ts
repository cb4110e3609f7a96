/** Requests and limits of the agents' containers, in the syntax of `kubectl set resources`. */
import { Wrong } from "#contract/values.ts";

/** Resource → quantity as the API server writes it. */
export type Resources = Readonly<Record<string, string>>;

/**
 * The most that admission lets an agent request or be limited to: agents of a high priority evict
 * other pods (docs/inside/decisions/admission-bounds.md).
 */
export const mostResources: Resources = { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" };

const names = Object.keys(mostResources);

/**
 * Least memory limit. Node's own text is 40 to 50 MiB and must fit too; 72Mi sometimes thrashes
 * without end.
 */
const leastMemory = "96Mi";

/** Defaults of the two flags. The default limit is the least that is allowed. */
export const standardRequests = "cpu=10m,memory=32Mi";
export const standardLimits = `memory=${leastMemory}`;

/** Reads `cpu=10m,memory=32Mi`; an empty text is none at all. */
export function resources(text: string): Resources | Wrong {
  const pairs = text === "" ? [] : text.split(",").map((one) => one.trim().split("="));
  const found: Record<string, string> = {};
  for (const [name = "", quantity = "", ...more] of pairs) {
    const one = more.length === 0 && names.includes(name) ? read(quantity) : undefined;
    if (one === undefined)
      return new Wrong(`names no quantities of ${names.join(", ")}; give ${standardRequests}`);
    found[name] = one.text;
  }
  return found;
}

export function limits(text: string): Resources | Wrong {
  const given = resources(text);
  const memory = given instanceof Wrong ? undefined : given["memory"];
  return memory !== undefined && isMore(leastMemory, memory)
    ? new Wrong(`has less memory than an agent needs; give memory=${leastMemory} or more`)
    : given;
}

/** The first resource whose request is above its limit. */
export function beyond(requests: Resources, allowed: Resources): string | undefined {
  return Object.keys(requests).find((name) =>
    isMore(requests[name] ?? "", allowed[name] ?? requests[name] ?? ""),
  );
}

const isMore = (one: string, other: string) =>
  (read(one)?.amount ?? 0) > (read(other)?.amount ?? 0);

const suffixes = {
  decimal: ["m", "", "k", "M", "G", "T", "P", "E"],
  binary: ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
};

/**
 * Reads a Kubernetes quantity: how much it is, and its text as the API server writes it (`1000m`
 * comes back as `1`, and would look like somebody's edit). Undefined where it is malformed, or
 * zero.
 */
function read(quantity: string): { amount: number; text: string } | undefined {
  const [, digits = "0", unit = ""] =
    /^(\d{1,9}(?:\.\d{1,3})?)(m|k|[MGTPE]|[KMGTPE]i)?$/.exec(quantity) ?? [];
  const binary = unit.endsWith("i");
  const [base, family] = binary ? [1024, suffixes.binary] : [1000, suffixes.decimal];
  const least = Math.ceil(Number(digits) * base ** family.indexOf(unit));
  if (least === 0) return undefined;
  let [rest, power] = [least, 0];
  while (rest % base === 0 && power < family.length - 1) [rest, power] = [rest / base, power + 1];
  return { amount: binary ? least : least / 1000, text: `${rest}${family[power]}` };
}

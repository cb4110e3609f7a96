/** Requests and limits of the agents' containers, in the syntax of `kubectl set resources`. */
import { Wrong } from "#contract/values.ts";

/** Resource → quantity, as the API server writes it. */
export type Resources = Readonly<Record<string, string>>;

/**
 * The highest requests and limits that admission allows for an agent. Agents have a high priority
 * and could evict other pods (docs/inside/decisions/admission-bounds.md).
 */
export const mostResources: Resources = { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" };

const names = Object.keys(mostResources);

/**
 * The lowest memory limit that the flag accepts. The code of Node.js takes 40 to 50 MiB. With a
 * limit of 72Mi, an agent sometimes thrashes without end.
 */
const leastMemory = "96Mi";

/** Defaults of the two flags. The default limit is the lowest allowed limit. */
export const standardRequests = "cpu=10m,memory=32Mi";
export const standardLimits = `memory=${leastMemory}`;

/** Reads `cpu=10m,memory=32Mi`. An empty text means no quantities. */
export function resources(text: string): Resources | Wrong {
  const pairs = text === "" ? [] : text.split(",").map((pair) => pair.trim().split("="));
  const quantities: Record<string, string> = {};
  for (const [name = "", quantity = "", ...more] of pairs) {
    const parsed = more.length === 0 && names.includes(name) ? read(quantity) : undefined;
    if (parsed === undefined)
      return new Wrong(
        `is not a list of quantities of ${names.join(", ")} (example: ${standardRequests})`,
      );
    quantities[name] = parsed.text;
  }
  return quantities;
}

export function limits(text: string): Resources | Wrong {
  const quantities = resources(text);
  const memory = quantities instanceof Wrong ? undefined : quantities["memory"];
  return memory !== undefined && isMore(leastMemory, memory)
    ? new Wrong(`has less memory than an agent needs; set memory=${leastMemory} or more`)
    : quantities;
}

const isMore = (quantity: string, other: string) =>
  (read(quantity)?.amount ?? 0) > (read(other)?.amount ?? 0);

const suffixes = {
  decimal: ["m", "", "k", "M", "G", "T", "P", "E"],
  binary: ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"],
};

/**
 * Reads a Kubernetes quantity: its amount, and its text as the API server writes it. (The API
 * server returns `1000m` as `1`, which would look like an edit.) Undefined if the quantity is
 * malformed or zero.
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

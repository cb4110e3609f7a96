/** Writes values as CEL literals. */

/**
 * Placeholder (a text or JSON) for a value that is known only in the cluster → CEL expression of
 * that value.
 */
type Places = Readonly<Record<string, string>>;

/**
 * The value as a CEL literal. If a text contains a placeholder of `places`, the place's expression
 * replaces the placeholder: `/a/KUBELET/b` becomes `'/a/' + variables.kubelet + '/b'`. If the JSON
 * of another value is a placeholder, the expression replaces the whole value. Kubernetes' CEL
 * accepts only lists and maps whose values have one type, therefore values of several types become
 * `dyn(…)`.
 */
export function literal(value: unknown, places: Places = {}): string {
  if (typeof value === "string") return textOf(value, Object.entries(places));
  const place = places[JSON.stringify(value)];
  if (place !== undefined) return place;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value) as [string, unknown][];
  const isMixed = new Set(fields.map(([, member]) => typeOf(member))).size > 1;
  const texts = fields.map(([key, member]) => {
    const text = literal(member, places);
    return [key, isMixed ? `dyn(${text})` : text] as const;
  });
  if (Array.isArray(value)) return `[${texts.map(([, text]) => text).join(", ")}]`;
  return `{${texts.map(([key, text]) => `${textOf(key, [])}: ${text}`).join(", ")}}`;
}

/** The type that CEL infers for a value. */
function typeOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return typeof value;
  const [first = "any", ...others] = new Set(Object.values(value).map(typeOf));
  return `${Array.isArray(value) ? "list" : "map"} of ${others.length > 0 ? "dyn" : first}`;
}

function textOf(text: string, places: readonly (readonly [string, string])[]): string {
  const [first, ...others] = places;
  if (first === undefined) return `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
  const [place, expression] = first;
  const parts = text
    .split(place)
    .map((part) => (part === "" && text !== "" ? "" : textOf(part, others)));
  return parts
    .flatMap((part, at) => (at === 0 ? [part] : [expression, part]))
    .filter((part) => part !== "")
    .join(" + ");
}

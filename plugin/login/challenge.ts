/** Reads the challenges in a registry's `WWW-Authenticate` header (RFC 9110, 11.6.1). */

export type Challenge = Readonly<{ scheme: string; parameters: ReadonlyMap<string, string> }>;

/** Matches `name`, `name=value` or `name="value"`. A name without a value begins a challenge. */
const part = /([\w!#$%&'*+.^`|~-]+)(?:[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;

/**
 * The challenges, with schemes and names of parameters in lower case. Leaves out parts that it
 * cannot parse.
 */
export function challengesIn(header: string): readonly Challenge[] {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  for (const [, name = "", quoted, plain] of header.matchAll(part)) {
    const value = quoted?.replace(/\\(.)/g, "$1") ?? plain;
    if (value !== undefined) found.at(-1)?.parameters.set(name.toLowerCase(), value);
    else found.push({ scheme: name.toLowerCase(), parameters: new Map() });
  }
  return found;
}

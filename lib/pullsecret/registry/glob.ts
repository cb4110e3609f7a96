/** Patterns for one label of a host name. */

/**
 * Whether a pattern matches a whole label as Go's filepath.Match does: `*` is any text, `[a-f]` one
 * character. Brackets come from an IPv6 address. The address is not intended as a pattern, but the
 * kubelet reads it as a pattern.
 */
export function matchesLabel(pattern: string, label: string): boolean {
  if (!pattern.includes("*") && !pattern.includes("[")) return pattern === label;
  const parts = split(pattern);
  if (parts === undefined) return false;
  let [part, at, star, resume] = [0, 0, -1, 0];
  while (at < label.length) {
    const symbol = parts[part];
    if (symbol === "*") {
      star = part++;
      resume = at;
    } else if (
      symbol === label[at] ||
      (symbol instanceof Set && symbol.has(label.charCodeAt(at)))
    ) {
      part++;
      at++;
    } else if (star >= 0) {
      // The last star matches one more character.
      part = star + 1;
      at = ++resume;
    } else return false;
  }
  return parts.slice(part).every((symbol) => symbol === "*");
}

/**
 * Whether some text matches both patterns: the parts before the first star and after the last star
 * must agree.
 */
export function labelsMeet(a: string, b: string): boolean {
  if (!a.includes("*")) return matchesLabel(b, a);
  if (!b.includes("*")) return matchesLabel(a, b);
  const [aHead, bHead] = [a.slice(0, a.indexOf("*")), b.slice(0, b.indexOf("*"))];
  const [aTail, bTail] = [a.slice(a.lastIndexOf("*") + 1), b.slice(b.lastIndexOf("*") + 1)];
  return (
    (aHead.startsWith(bHead) || bHead.startsWith(aHead)) &&
    (aTail.endsWith(bTail) || bTail.endsWith(aTail))
  );
}

type Part = string | ReadonlySet<number>;

/** A pattern's characters, stars and classes; `undefined` for a pattern that Go refuses. */
function split(pattern: string): Part[] | undefined {
  const open = pattern.indexOf("[");
  if (open < 0) return [...pattern];
  const close = pattern.indexOf("]", open + 2);
  const members = close < 0 ? undefined : readClass(pattern.slice(open + 1, close));
  const rest = members === undefined ? undefined : split(pattern.slice(close + 1));
  if (members === undefined || rest === undefined) return undefined;
  return [...pattern.slice(0, open), members, ...rest];
}

/**
 * The characters of a class: single characters and ranges. Neither of them can begin with a hyphen.
 */
function readClass(text: string): ReadonlySet<number> | undefined {
  const members = new Set<number>();
  for (let at = 0; at < text.length; at++) {
    const range = text[at + 1] === "-";
    const last = range ? text[at + 2] : text[at];
    if (text[at] === "-" || last === undefined || (range && last === "-")) return undefined;
    for (let code = text.charCodeAt(at); code <= last.charCodeAt(0); code++) members.add(code);
    if (range) at += 2;
  }
  return members;
}

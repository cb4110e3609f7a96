/**
 * Key paths for people: `auths["quay.io"].auth`. Safe to print: no control characters, no secret
 * from a key, bounded length.
 */
import { isIPv6 } from "node:net";
import { escape } from "#contract/catalogue.ts";
import { redacted, redactTokens } from "./token.ts";

export { escape };

const plainName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const longest = 100;

/** Spellings of `@`: percent-encoded (once or more often), full width, escaped for HTML or JSON. */
const atSign = /\uff20|\ufe6b|%(?:25)*40|&#64;|\\u0040/gi;
/** The beginning of a query or a fragment. */
const tail = /\?|#|%(?:25)*(?:3f|23)/i;
const scheme = /^(?:[a-z][a-z0-9+.-]*:)?\/\//i;

/**
 * Replaces everything in a registry key that might be a secret:
 * - user and password: all before the last `@`, in any spelling
 * - query and fragment
 * - a text in place of a port
 * - tokens that token.ts recognises
 *
 * Accepts any text. If a text can be read in two ways, all of it is redacted. The result can be
 * long and can contain control characters. To print a key, use `quote` or `formatPath(["auths",
 * key])`, which also redact it.
 */
export function redactKey(key: string): string {
  return redactTokens(withoutSecrets(key));
}

function withoutSecrets(key: string): string {
  const text = key.replace(atSign, "@");
  const sign = text.lastIndexOf("@");
  const cut = tail.exec(text);
  if (cut !== null && cut.index < sign) return redacted;
  const shown = redactPort(text.slice(sign + 1, cut?.index));
  return `${sign < 0 ? "" : `${redacted}@`}${shown}${cut === null ? "" : `${cut[0]}${redacted}`}`;
}

/**
 * Redacts a text in place of a port, as in `robot:TOKEN`. A port has at most five digits, or is a
 * wildcard.
 */
function redactPort(key: string): string {
  const start = scheme.exec(key)?.[0].length ?? 0;
  const slash = key.indexOf("/", start);
  const authority = key.slice(start, slash < 0 ? undefined : slash);
  if (isIPv6(authority)) return key;
  const host = /^\[[^\]]*\]/.exec(authority)?.[0].length ?? 0;
  const colon = /:|%(?:25)*3a/i.exec(authority.slice(host));
  if (colon === null) return key;
  const before = start + host + colon.index;
  const port = authority.slice(host + colon.index + colon[0].length);
  return /^[0-9*]{0,5}$/.test(port) ? key : `${key.slice(0, before)}:${redacted}`;
}

/** A redacted key in quotes, safe to print: no control characters, cut off after 100 characters. */
export function quote(key: string): string {
  const shown = redactKey(key);
  return escape(JSON.stringify(shown.length > longest ? `${shown.slice(0, longest)}…` : shown));
}

/** The path to a value: member names and list positions. */
export type Steps = readonly (string | number)[];

/** `auths["quay.io"].auth`; `document` without steps. Names other than plain words are quoted. */
export function formatPath(steps: Steps): string {
  let path = "";
  for (const step of steps) {
    if (typeof step === "number") path += `[${step}]`;
    else if (!plainName.test(step)) path += `[${quote(step)}]`;
    else path += path === "" ? step : `.${step}`;
  }
  return path === "" ? "document" : path;
}

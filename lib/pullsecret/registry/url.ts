/**
 * How the kubelet reads a registry key as a URL (Go's net/url, Go 1.26), for text that follows
 * `https://`. Strings here are binary strings, one character per UTF-8 byte, because Go compares,
 * sorts and unescapes bytes.
 */
import { Buffer } from "node:buffer";
import { isIPv6 } from "node:net";

/**
 * The two parts of a key that the kubelet keeps. The kubelet reads and drops user, query and
 * fragment.
 */
export type Location = Readonly<{ host: string; path: string }>;

/** The UTF-8 bytes of a text as a binary string. */
export function toBinary(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

const ascii = /^[ -~]*$/;
const notInUrl = /[^ -~\u0080-\u00ff]/;
const notInHost = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\u0080-\u00ff]/;
const notInUser = /[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/;
const badEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * Host and path of a key without its scheme; `undefined` if Go reports an error and the kubelet
 * skips the key.
 */
export function parseLocation(key: string): Location | undefined {
  const hash = key.indexOf("#");
  if (hash >= 0 && badEscape.test(key.slice(hash + 1))) return undefined;
  const beforeHash = hash < 0 ? key : key.slice(0, hash);
  if (notInUrl.test(beforeHash)) return undefined;
  const query = beforeHash.indexOf("?");
  const rest = query < 0 ? beforeHash : beforeHash.slice(0, query);
  const slash = rest.indexOf("/");
  const host = parseAuthority(slash < 0 ? rest : rest.slice(0, slash));
  const path = unescape(slash < 0 ? "" : rest.slice(slash));
  return host === undefined || path === undefined ? undefined : { host, path };
}

/**
 * `host[:port]` → host and port as net.SplitHostPort returns them; the whole text as host if
 * SplitHostPort reports an error.
 */
export function splitPort(hostport: string): { host: string; port: string } {
  const whole = { host: hostport, port: "" };
  const colon = hostport.lastIndexOf(":");
  if (colon < 0) return whole;
  const port = hostport.slice(colon + 1);
  if (hostport.startsWith("[")) {
    const end = hostport.indexOf("]");
    const host = hostport.slice(1, end);
    return end + 1 !== colon || host.includes("[") || port.includes("]") ? whole : { host, port };
  }
  const host = hostport.slice(0, colon);
  return /[:[\]]/.test(host) ? whole : { host, port };
}

function parseAuthority(authority: string): string | undefined {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  if (notInUser.test(user) || badEscape.test(user)) return undefined;
  return parseHost(authority.slice(at + 1));
}

function parseHost(host: string): string | undefined {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) return undefined;
  if (bracket < 0) {
    const colon = host.indexOf(":");
    return colon >= 0 && !/^:[0-9]*$/.test(host.slice(colon)) ? undefined : unescapeHost(host);
  }
  const end = host.lastIndexOf("]");
  if (end < 0 || !/^(?::[0-9]*)?$/.test(host.slice(end + 1))) return undefined;
  const inside = host.slice(1, end);
  const zoneAt = inside.indexOf("%25");
  const address = unescapeHost(zoneAt < 0 ? inside : inside.slice(0, zoneAt));
  const zone = zoneAt < 0 ? "" : unescapeZone(inside.slice(zoneAt));
  if (address === undefined || zone === undefined) return undefined;
  return isAddress(address + zone) ? `[${address}${zone}]${host.slice(end + 1)}` : undefined;
}

/** An IPv6 address, optionally with a zone of at least one character. */
function isAddress(text: string): boolean {
  const percent = text.indexOf("%");
  return isIPv6(percent < 0 ? text : text.slice(0, percent)) && percent !== text.length - 1;
}

function unescape(text: string): string | undefined {
  if (!text.includes("%")) return text;
  if (badEscape.test(text)) return undefined;
  return text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** In a host, only bytes above 0x7f and the percent sign itself are allowed to be escaped. */
function unescapeHost(text: string): string | undefined {
  return notInHost.test(text) || /%(?!25|[89A-Fa-f])/.test(text) ? undefined : unescape(text);
}

/**
 * In an IPv6 zone, an escape can also stand for a space, or for a character that a host can contain
 * without an escape.
 */
function unescapeZone(text: string): string | undefined {
  if (notInHost.test(text)) return undefined;
  const plain = unescape(text);
  const escapes = text.match(/%../g) ?? [];
  const fine = (escape: string): boolean => {
    const byte = unescape(escape) ?? "";
    return byte === "%" || byte === " " || (byte < "\u0080" && !notInHost.test(byte));
  };
  return escapes.every(fine) ? plain : undefined;
}

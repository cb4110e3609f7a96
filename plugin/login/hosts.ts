/** Finds the address of a registry from a key of a pull secret. Pure. */
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";
import { Wrong } from "#contract/values.ts";

/** The names that images and pull secrets use for Docker Hub. */
const dockerHub: ReadonlySet<string> = new Set(["docker.io", "index.docker.io"]);

/** The host of a key, as HOST or HOST:PORT. Undefined if the key does not name exactly one host. */
export function hostToAsk(key: string): string | undefined {
  const registry = identity(key);
  if (registry === undefined || hasWildcard(registry)) return undefined;
  const host = hostOf(registry);
  return dockerHub.has(host) ? dockerHubRegistry : host;
}

export function isLoopback(host: string): boolean {
  const name = splitPort(host).host.replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || /^127(?:\.\d{1,3}){3}$/.test(name);
}

/**
 * The schemes to try, in this order. For a registry on this machine, we also try plain HTTP, as
 * Docker does. For a host that the user names with `--plain-http`, we use only plain HTTP.
 */
export function schemesOf(host: string, plain: ReadonlySet<string>): readonly ("https" | "http")[] {
  if (plain.has(host)) return ["http"];
  return isLoopback(host) ? ["https", "http"] : ["https"];
}

/** Reads a value of `--plain-http`. It must have the same spelling as the result of `hostToAsk`. */
export function hostAndPort(text: string): string | Wrong {
  return hostToAsk(text) === text ? text : new Wrong("is not HOST or HOST:PORT of a registry");
}

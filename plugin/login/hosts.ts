/** Finds the address of a registry from a key of a pull secret. Pure. */
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";

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
 * Docker does.
 */
export function schemesOf(host: string): readonly ("https" | "http")[] {
  return isLoopback(host) ? ["https", "http"] : ["https"];
}

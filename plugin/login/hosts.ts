/** The address at which a registry of a pull secret answers. Pure. */
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";
import { Wrong } from "#contract/values.ts";

/** The names that images and pull secrets use for Docker Hub. */
const dockerHub: ReadonlySet<string> = new Set(["docker.io", "index.docker.io"]);

/** The host of a key, as HOST or HOST:PORT; undefined for a key that does not name exactly one. */
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
 * The schemes to try, in this order. As in Docker, a registry on this machine may use plain HTTP if
 * it does not speak TLS. A host that the user has named (`--plain-http`) uses only plain HTTP.
 */
export function schemesOf(host: string, plain: ReadonlySet<string>): readonly ("https" | "http")[] {
  if (plain.has(host)) return ["http"];
  return isLoopback(host) ? ["https", "http"] : ["https"];
}

/** Reads a value of `--plain-http`. It must be spelled as `hostToAsk` returns it. */
export function hostAndPort(text: string): string | Wrong {
  return hostToAsk(text) === text ? text : new Wrong("is not HOST or HOST:PORT of a registry");
}

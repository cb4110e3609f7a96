/** Where a registry of a pull secret answers. Pure. */
import { dockerHubRegistry, hasWildcard, hostOf, identity } from "#pullsecret/registry/registry.ts";
import { splitPort } from "#pullsecret/registry/url.ts";
import { Wrong } from "#contract/values.ts";

/** Docker Hub under the names that images and pull secrets have for it. */
const dockerHub: ReadonlySet<string> = new Set(["docker.io", "index.docker.io"]);

/** HOST or HOST:PORT; undefined for a key that names no one host. */
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
 * Plain HTTP is for this machine, as Docker has it, and for hosts of which a person has said so;
 * there it is tried where no TLS is spoken.
 */
export function schemesOf(host: string, plain: ReadonlySet<string>): readonly ("https" | "http")[] {
  if (plain.has(host)) return ["http"];
  return isLoopback(host) ? ["https", "http"] : ["https"];
}

/** A host of `--plain-http`, as keys of pull secrets have it. */
export function hostAndPort(text: string): string | Wrong {
  return hostToAsk(text) === text ? text : new Wrong("is no HOST or HOST:PORT of a registry");
}

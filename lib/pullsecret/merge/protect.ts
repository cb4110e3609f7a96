/** Registries that are protected from every source but the original. */
import { Wrong } from "#contract/values.ts";
import { formatPath, quote } from "../problems/keypath.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { isPort } from "../registry/key.ts";
import {
  dockerHubImages,
  dockerHubKey,
  hasWildcard,
  hostOf,
  identity,
  isHubPage,
  isHubWithoutSlash,
  overlaps,
  spelling,
} from "../registry/registry.ts";
import { splitPort } from "../registry/url.ts";

/**
 * Reads a value of `--protect`, or of spec.protectedRegistries. We refuse a value that protects
 * nothing, or far less than it seems to, because people would rely on it.
 */
export function protectable(value: string): string | Wrong {
  const reason = value.trim() === "" ? "is empty; give a registry such as quay.io" : whyNot(value);
  return reason === undefined ? value : new Wrong(reason);
}

function whyNot(value: string): string | undefined {
  const registry = identityOf(value);
  if (/^(?:https?:\/\/)?(?:[^/@]*@)?index\.docker\.io(?::0*443)?\/(?!v[12]\/?$)./i.test(value))
    return "has a path that no image name has; give docker.io with that path";
  if (registry === undefined)
    return "is not a registry; give it as in image names, such as quay.io";
  const { host, port } = splitPort(hostOf(registry));
  if (hostOf(registry).endsWith(":") || (port !== "" && !isPort(port)))
    return "has no port from 1 to 65535 as in image names; correct or remove the port";
  if (isHubPage(registry)) return "is not a host of image names; give docker.io for Docker Hub";
  if (hasWildcard(registry) && !host.includes(".") && port === "")
    return "means only hosts without a dot, because * matches one part of a name; give each registry";
  if (/^[0-9]+(?:\.[0-9]+){3}(?::[0-9]+)?\/[0-9]{1,2}$/.test(registry))
    return "is a range of addresses, which protects none of them; give each registry, such as 10.0.0.1:5000";
  return undefined;
}

/**
 * Finds entries that would serve images of a protected registry: entries for the registry itself,
 * for a path below or above it, or for a wildcard over it. The original might have no such entry.
 * Capitals of the host, zeros before the port and the port 443 make no difference, because the
 * registry is the same.
 */
export function findProtected(
  entries: readonly Readonly<{ id: string; registry: string }>[],
  protect: readonly string[],
): Problem[] {
  const problems: Problem[] = [];
  for (const name of protect) {
    if (protectable(name) instanceof Wrong) {
      problems.push(problem("badProtect", "protect", quote(name)));
      continue;
    }
    const guarded = guardedBy(name);
    for (const { id, registry } of entries) {
      const meant = identityOf(registry) ?? "";
      if (!guarded.some((pattern) => overlaps(meant, pattern))) continue;
      problems.push(problem("protected", id, formatPath(["auths", registry]), quote(name)));
    }
  }
  return problems;
}

/**
 * Finds entries that are not protected although a wildcard seems to cover them. `*.amazonaws.com`
 * has fewer parts than any host of Amazon's registries, and a name without a port covers no port.
 */
export function findUnprotected(
  entries: readonly Readonly<{ id: string; registry: string }>[],
  protect: readonly string[],
): Problem[] {
  const guarded = protect.flatMap((name) => identityOf(name) ?? []);
  const wild = guarded.flatMap((name) => {
    const { host } = splitPort(hostOf(name));
    const ending = host.slice(host.lastIndexOf("*") + 1);
    const path = name.slice(hostOf(name).length);
    return host.includes("*") && ending.startsWith(".") ? [{ name, ending, path }] : [];
  });
  return entries.flatMap(({ id, registry }) => {
    const meant = identityOf(registry);
    if (meant === undefined) return [];
    const { host } = splitPort(hostOf(meant));
    const near = wild.find(
      ({ ending, path }) => host.endsWith(ending) && overlaps(meant, hostOf(meant) + path),
    );
    if (near === undefined || guarded.some((name) => overlaps(meant, name))) return [];
    const missing = quote(hostOf(meant) + near.path);
    const path = formatPath(["auths", registry]);
    return [problem("unprotected", id, path, quote(near.name), missing)];
  });
}

/**
 * All possible meanings of a name. We protect too much rather than too little, because people would
 * not notice too little protection.
 */
function guardedBy(name: string): readonly string[] {
  const registry = identityOf(name) ?? "";
  const host = hostOf(registry);
  const path = registry.slice(host.length);
  const guarded = [registry];
  // As a key, `a.io/v1/foo` means the registry a.io/foo. But the user might mean the images whose
  // names begin with a.io/v1/foo, so we protect both.
  const asImage = identityOf(spelling(asWritten(name)));
  if (asImage !== undefined) guarded.push(asImage);
  // For all programs except the kubelet, `https://a.io/v1` is the API of a.io, so we protect the
  // whole host.
  if (/^\/v[12]$/.test(path)) guarded.push(host);
  // `docker.io/nginx` can mean an account, or the image that is looked up as
  // docker.io/library/nginx.
  const isOfHub = host !== "" && overlaps(host, dockerHubImages);
  const official = /^\/([^/]+)\/?$/.exec(path)?.[1];
  if (isOfHub && official !== undefined) guarded.push(`${dockerHubImages}/library/${official}`);
  return guarded;
}

/** The intended registry, without the parts that make no difference. */
function identityOf(name: string): string | undefined {
  const lower = asWritten(name);
  const registry = identity(isHubWithoutSlash(lower) ? dockerHubKey : lower);
  const host = registry === undefined ? "" : hostOf(registry);
  if (registry === undefined || !host.endsWith(":443")) return registry;
  const plain = host.slice(0, host.lastIndexOf(":")) + registry.slice(host.length);
  // Port 443 is dropped, unless an image name needs a port: after an IPv6 address, or after a host
  // without a dot.
  return identity(spelling(plain)) ?? registry;
}

function asWritten(name: string): string {
  return name.replace(/^(?:https?:\/\/)?[^/]*/i, (host) =>
    host.toLowerCase().replace(/:0+(?=[1-9][0-9]*$)/, ":"),
  );
}

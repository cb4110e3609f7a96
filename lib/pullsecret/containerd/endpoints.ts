/**
 * hosts.toml as containerd reads it (core/remotes/docker/config/hosts.go): the endpoints that
 * containerd tries for the images of one registry. Pure.
 */
import {
  dockerHubImages,
  dockerHubRegistry,
  hasWildcard,
  hostOf,
  identity,
  served,
} from "../registry/registry.ts";
import { quote } from "../problems/keypath.ts";
import { isTable, isText, type TomlTable } from "./toml.ts";

/**
 * An endpoint: a mirror, or the registry itself. `table`: the name of its table below `host`, or
 * undefined for the top of the file. `host`: host and port of its address; undefined if the file
 * names none. `hasAuthorization`: its headers contain an Authorization. `canPull`: it is asked for
 * images and for tags.
 */
export type Endpoint = Readonly<{
  table: string | undefined;
  host: string | undefined;
  hasAuthorization: boolean;
  canPull: boolean;
}>;

/** The endpoints, the registry itself first, or the reason why containerd ignores the file. */
export function endpointsOf(document: TomlTable): readonly Endpoint[] | string {
  const { server = "", host: mirrors = {} } = document;
  if (!isText(server)) return "server is not a string";
  if (!isTable(mirrors)) return "host is not a table";
  const tables = [
    [undefined, server, document] as const,
    ...Object.entries(mirrors).map(([name, fields]) => [name, name, fields] as const),
  ];
  const endpoints: Endpoint[] = [];
  for (const [table, address, fields] of tables) {
    if (!isTable(fields)) return "an entry of host is not a table";
    // containerd reads keys in any case.
    const miswritten = Object.keys(fields).find((name) => !names.has(name) && names.has(low(name)));
    if (miswritten !== undefined) return `${quote(miswritten)} is not in lower case`;
    const wrong = Object.entries(kinds).find(
      ([name, is]) => fields[name] !== undefined && !is(fields[name]),
    );
    if (wrong !== undefined) return `${wrong[0]} is not what containerd expects`;
    const host = hostIn(address);
    if (host === undefined && address !== "") return "an address of a host cannot be read";
    const headers = Object.keys(fields["header"] ?? {});
    const hasAuthorization = headers.some((name) => low(name) === "authorization");
    const all = ((fields["capabilities"] ?? []) as readonly string[]).map(low);
    const canPull = all.length === 0 || (all.includes("pull") && all.includes("resolve"));
    endpoints.push({ table, host, hasAuthorization, canPull });
  }
  return endpoints;
}

const capabilities: ReadonlySet<string> = new Set(["pull", "resolve", "push", "referrers"]);

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isPair = (value: unknown): boolean => isTexts(value) && (value as string[]).length === 2;

/** Field of an endpoint → whether containerd can decode the value. One wrong field voids a file. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  capabilities: (value) =>
    isTexts(value) && (value as string[]).every((name) => capabilities.has(name.toLowerCase())),
  ca: (value) => isText(value) || isTexts(value),
  client: (value) =>
    isText(value) || (Array.isArray(value) && value.every((part) => isText(part) || isPair(part))),
  skip_verify: (value) => typeof value === "boolean",
  override_path: (value) => typeof value === "boolean",
  dial_timeout: (value) =>
    isText(value) && /^(?:(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+|0)?$/.test(value),
  header: (value) =>
    isTable(value) && Object.values(value).every((part) => isText(part) || isTexts(part)),
};

const names: ReadonlySet<string> = new Set(["server", "host", ...Object.keys(kinds)]);

function low(text: string): string {
  return text.toLowerCase();
}

/** Whether containerd asks the same URLs for two addresses, if both have the same override_path. */
export function isSameAddress(address: string, other: string): boolean {
  const [url, otherUrl] = [address, other].map((text) =>
    (text.startsWith("http") ? text : `https://${text}`).replace(/\/+$/, "").replace(/\/v2$/, ""),
  );
  return url === otherUrl;
}

/** Host and port of an address. containerd prepends https:// unless it begins with http. */
function hostIn(address: string): string | undefined {
  const url = address.startsWith("http") ? address : `https://${address}`;
  return /^https?:\/\/([A-Za-z0-9._-]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?)(?:\/[\w./~-]*)?$/.exec(
    url,
  )?.[1];
}

/** The registry of an entry that serves a whole host; undefined for any other entry. */
export function wholeHost(key: string): string | undefined {
  const registry = identity(key);
  if (registry === undefined || hasWildcard(registry)) return undefined;
  const images = served(registry);
  const isName = images === hostOf(images) && directoriesOf(images)[0].length <= longestName;
  return isName ? images : undefined;
}

/** The longest name of a directory. */
const longestName = 255;

/** The registry whose credential an endpoint of this host gets. */
export function registryAt(host: string): string {
  return host === dockerHubRegistry ? dockerHubImages : host;
}

/**
 * The address of the registry itself, from its hosts.toml or else as containerd chooses it;
 * undefined for the default of all registries.
 */
export function addressOf({ server }: TomlTable, registry: string | undefined): string | undefined {
  if (isText(server) && server !== "") return server;
  if (registry === undefined) return undefined;
  if (registry === dockerHubImages) return `https://${dockerHubRegistry}`;
  const port = /:(\d+)$/.exec(registry)?.[1] ?? "443";
  return isLocal(registry) && port !== "443" ? `http://${registry}` : `https://${registry}`;
}

/** The node itself: containerd does not verify its certificate, and falls back to plain HTTP. */
function isLocal(registry: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/.test(registry);
}

/** The fields with which a table below `host` is asked as the registry itself is, for pulls. */
export function copied(document: TomlTable, registry: string): TomlTable {
  const names = ["ca", "client", "skip_verify", "override_path", "dial_timeout", "header"];
  const fields = names.flatMap((name) =>
    document[name] === undefined ? [] : [[name, document[name]] as const],
  );
  const all = (document["capabilities"] ?? ["pull", "resolve"]) as readonly string[];
  const pulling = all.filter((name) => ["pull", "resolve"].includes(name.toLowerCase()));
  const unverified =
    (document["server"] ?? "") === "" && isLocal(registry) && !registry.endsWith(":80");
  return {
    // Without any capability, the table would have all.
    capabilities: pulling.length > 0 ? pulling : all,
    ...(unverified && { skip_verify: true }),
    ...Object.fromEntries(fields),
  };
}

/**
 * The names of directories in which containerd looks for a registry's hosts.toml. It uses the first
 * that exists.
 */
export function directoriesOf(registry: string): readonly [string, ...string[]] {
  const colon = registry.lastIndexOf(":");
  if (colon <= 0) return [registry];
  return [`${registry.slice(0, colon)}_${registry.slice(colon + 1)}_`, registry];
}

/** The directory for registries that have no directory of their own. */
export const defaultDirectory = "_default";

/** The registry of a directory; undefined for the default. */
export function registryOf(directory: string): string | undefined {
  if (directory === defaultDirectory) return undefined;
  return directory.replace(/^(.+)_(\d+)_$/, "$1:$2");
}

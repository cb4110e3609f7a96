/**
 * hosts.toml as containerd reads it (core/remotes/docker/config/hosts.go): the endpoints that
 * containerd tries for the images of one registry. Pure.
 */
import { dockerHubImages, dockerHubRegistry } from "../registry/registry.ts";
import { isTable, isText, type TomlTable } from "./toml.ts";

/**
 * An endpoint: a mirror, or the registry itself. `table`: the name of its table below `host`, or
 * undefined for the top of the file. `host`: host and port of its address; undefined if the file
 * names none. `hasAuthorization`: its headers contain an Authorization.
 */
export type Endpoint = Readonly<{
  table: string | undefined;
  host: string | undefined;
  hasAuthorization: boolean;
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
    const wrong = Object.entries(kinds).find(
      ([name, is]) => fields[name] !== undefined && !is(fields[name]),
    );
    if (wrong !== undefined) return `${wrong[0]} is not what containerd expects`;
    const host = hostIn(address);
    if (host === undefined && address !== "") return "an address of a host cannot be read";
    const names = Object.keys((fields["header"] ?? {}) as TomlTable);
    const hasAuthorization = names.some((name) => name.toLowerCase() === "authorization");
    endpoints.push({ table, host, hasAuthorization });
  }
  return endpoints;
}

const capabilities: ReadonlySet<string> = new Set(["pull", "resolve", "push", "referrers"]);

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isPair = (value: unknown): boolean => isTexts(value) && (value as string[]).length === 2;

/** Fields of an endpoint → whether containerd can decode the value. One wrong field voids a file. */
const kinds: Readonly<Record<string, (value: unknown) => boolean>> = {
  capabilities: (value) =>
    isTexts(value) && (value as string[]).every((name) => capabilities.has(name.toLowerCase())),
  ca: (value) => isText(value) || isTexts(value),
  client: (value) =>
    isText(value) || (Array.isArray(value) && value.every((part) => isText(part) || isPair(part))),
  skip_verify: (value) => typeof value === "boolean",
  override_path: (value) => typeof value === "boolean",
  dial_timeout: (value) => isText(value) && /^(?:(?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+|0)?$/.test(value),
  header: (value) =>
    isTable(value) && Object.values(value).every((part) => isText(part) || isTexts(part)),
};

/** Host and port of an address; containerd prepends https:// unless the address begins with http. */
function hostIn(address: string): string | undefined {
  const url = address.startsWith("http") ? address : `https://${address}`;
  return /^https?:\/\/([A-Za-z0-9._-]+(?::\d+)?|\[[0-9A-Fa-f:.]+\](?::\d+)?)(?:\/[\w./~-]*)?$/.exec(
    url,
  )?.[1];
}

/** The registry whose credential an endpoint of this host gets. */
export function registryAt(host: string): string {
  return host === dockerHubRegistry ? dockerHubImages : host;
}

/** The host that containerd asks for a registry's images if hosts.toml does not name a server. */
export function serverOf(registry: string): string {
  return registry === dockerHubImages ? dockerHubRegistry : registry;
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

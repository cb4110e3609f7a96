/**
 * Reads one key of `auths`: returns the spelling to write, and reports everything that is wrong or
 * odd about the key.
 */
import { quote, type Steps } from "../problems/keypath.ts";
import {
  dockerHubKey,
  hasWildcard,
  hostOf,
  identity,
  isHubPage,
  isHubWithoutSlash,
  served,
  spelling,
} from "./registry.ts";
import type { Findings } from "../problems/findings.ts";
import { splitPort } from "./url.ts";

/**
 * The sum of https:// (8), host (253), port (6), /v1 (3), slash (1) and repository path (255). No
 * image name is longer.
 */
const longest = 526;

/**
 * The key as we write it. A key that can match nothing stays unchanged, and is added to the
 * findings. Undefined: the entry must be left out.
 */
export function readKey(key: string, path: Steps, findings: Findings): string | undefined {
  const registry = key.length > longest ? undefined : identity(key);
  if (registry === undefined && isHubWithoutSlash(key)) return readHub(key, path, findings);
  if (registry === undefined) {
    const kind = key === "" ? "emptyKey" : key.length > longest ? "longKey" : "deadKey";
    return findings.useless(kind, path) ? undefined : key;
  }
  const { port } = splitPort(hostOf(registry));
  if ((port !== "" && !isPort(port)) || hostOf(registry).endsWith(":")) {
    if (findings.useless("badPort", path)) return undefined;
  } else if (isUnusual(registry))
    findings.doubtful(hasZeros.test(port) ? "badPort" : "capitals", "fewImages", path);
  if (port === "443") findings.warn("defaultPort", path, port);
  if (hasWildcard(registry)) findings.warn("wildcard", path);
  const isVersion = /^[^/]*\/v[12]$/.test(registry);
  if (isVersion) findings.warn("versionPath", path);
  if (isHubPage(registry)) findings.warn("hubMirror", path);
  if (pagePath.test(registry)) findings.warn("pagePath", path);
  if (plain(key) !== registry) findings.warn("readAs", path, quote(registry));
  // CRI-O reads only the host of a key with a scheme, whatever the path. The kubelet ignores the
  // scheme.
  return isVersion && /^https?:/.test(key) ? `https://${registry}` : spelling(registry);
}

/** Addresses of repositories as the pages of Artifactory and Nexus show them. */
const pagePath = /^[^/]*\/(?:artifactory\/api\/docker|repository)\/./;

/**
 * Docker Hub's key without its last slash. In an original, the key stays unchanged, because the
 * kubelet has never used the credential under this key. If that credential is stale, using it would
 * break pulls of public images.
 */
function readHub(key: string, path: Steps, findings: Findings): string {
  if (findings.source.role === "original") {
    findings.warn("kept", path, `only ${dockerHubKey}, with its last slash, is Docker Hub's key`);
    return key;
  }
  findings.warn("readAs", path, quote(dockerHubKey));
  return dockerHubKey;
}

/**
 * Keys that mean the same registry as `key`, so that several credentials can be written for it. The
 * first result is the key itself if it differs from the registry only in parts that programs
 * usually drop.
 */
export function spellingsOf(key: string): readonly string[] {
  const registry = identity(key) ?? key;
  const host = hostOf(registry);
  const path = registry.slice(host.length);
  const spellings = ["", "/v1", "/v2"].flatMap((version) => {
    const written = host + version + (path === "" && version !== "" ? "/" : path);
    return ["", "https://", "http://"].map((scheme) => scheme + written);
  });
  const own = plain(key) === registry ? [key] : [];
  return [...own, ...spellings.filter((candidate) => identity(candidate) === registry)];
}

/**
 * The registry that a key means, the same for all its spellings. A key that can match nothing is
 * returned unchanged.
 */
export function meaningOf(registry: string): string {
  return (registry.length > longest ? undefined : identity(registry)) ?? registry;
}

/**
 * Identifies the images that a key serves: keys that serve the same images have the same result.
 * Docker Hub's images have two registries. One is `https://index.docker.io/v1/`, which docker login
 * writes. The other is `docker.io`.
 */
export function imagesOf(registry: string): string {
  return served(meaningOf(registry));
}

const hasZeros = /^0/;

/**
 * Whether a host has capitals, or zeros before its port. A few image names have them too, and image
 * names are compared letter by letter.
 */
export function isUnusual(registry: string): boolean {
  const host = hostOf(identity(registry) ?? "");
  return /[A-Z]/.test(host) || hasZeros.test(splitPort(host).port);
}

export function isPort(port: string): boolean {
  return /^0*[1-9][0-9]{0,4}$/.test(port) && Number(port) <= 65_535;
}

/** A key without the parts that programs usually drop: the scheme, an API version, a last slash. */
function plain(key: string): string {
  const bare = key.replace(/^https?:\/\//, "").replace(/^([^/]*)\/v[12]\//, "$1/");
  return bare.replace(/^([^/]*)\/$/, "$1");
}

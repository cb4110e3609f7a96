/** A registry key: how the kubelet reads it, which images it can match, how two keys relate. */
import { labelsMeet, matchesLabel } from "./glob.ts";
import { parseLocation, splitPort, toBinary, type Location } from "./url.ts";

/**
 * Docker Hub's key as docker login writes it. The kubelet falls back to it for images that nothing
 * else matches.
 */
export const dockerHubKey = "https://index.docker.io/v1/";
const dockerHub = "index.docker.io";
/** The host that serves Docker Hub's images; no key of a pull secret refers to it. */
export const dockerHubRegistry = "registry-1.docker.io";
/**
 * The host under which the kubelet looks up Docker Hub's images; as a key it serves all of them.
 */
export const dockerHubImages = "docker.io";

/**
 * The form in which the kubelet stores a key (binary string): `http://` or `https://` dropped, a
 * leading `/v1/` or `/v2/` of the path reduced to `/`, a path of only `/` dropped. `undefined`: not
 * a URL, so the kubelet skips the key.
 */
export function normalise(key: string): string | undefined {
  const location = parseLocation(toBinary(key.replace(/^https?:\/\//, "")));
  if (location === undefined) return undefined;
  const path = /^\/v[12]\//.test(location.path) ? location.path.slice(3) : location.path;
  return path === "/" ? location.host : location.host + path;
}

/**
 * A shortcut for most keys, which are in normal form already. The shortcut takes a fifth of the
 * time.
 */
const everyday =
  /^(?!index\.docker\.io)[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z0-9]+(?::[0-9]+)?(?!\/v[12]\/)(?:\/[a-z0-9]+)*$/;

/**
 * The registry of a key: the kubelet's normalised form. Two keys mean the same registry exactly if
 * their normalised forms are equal. `undefined`: no image reference can match the key, except by
 * accident (brackets that the kubelet reads as a pattern, a path that is escaped twice).
 */
export function identity(key: string): string | undefined {
  if (everyday.test(key)) return key;
  const normal = normalise(key);
  const location = normal === undefined ? undefined : parseLocation(normal);
  if (normal === undefined || location === undefined) return undefined;
  // The kubelet parses its own normal form again at every lookup. If this changes a key once more,
  // the key was escaped twice.
  return location.host + location.path === normal && isReachable(location) ? normal : undefined;
}

/**
 * The key that is written for a registry, so that the kubelet reads it back as the same registry.
 * Docker Hub keeps its own spelling, because Docker clients use no other spelling.
 */
export function spelling(registry: string): string {
  if (registry === dockerHub) return dockerHubKey;
  if (!/^[^/]*\/v[12]\//.test(registry)) return registry;
  // The kubelet would read a repository path that begins with v1/ or v2/ as an API version, so we
  // prepend an API version, which the kubelet then drops.
  return registry.replace("/", "/v1/");
}

/**
 * True for a key of Docker Hub without its trailing slash. The kubelet reads `/v1` as the beginning
 * of a repository's name, which no image of index.docker.io has.
 */
export function isHubWithoutSlash(key: string): boolean {
  return /^index\.docker\.io\/v[12]$/.test(normalise(key) ?? "");
}

/**
 * Whether this is a host of Docker that serves images, pages or tokens of Docker Hub. The kubelet
 * looks up no image of docker.io under such a host.
 */
export function isHubPage(registry: string): boolean {
  const { host } = splitPort(hostOf(registry));
  return host !== dockerHub && /(?:^|\.)docker\.com$|\.docker\.io$/.test(host);
}

/** Whether docker login in a browser stores its own tokens under this key. */
export function isHubToken(key: string): boolean {
  return /^index\.docker\.io\/(?:access|refresh)-token$/.test(normalise(key) ?? "");
}

const globLabel = /^[A-Za-z0-9*](?:[A-Za-z0-9*_-]*[A-Za-z0-9*])?$/;
const address = /^\[[A-Fa-f0-9:]+\]:[0-9]+$/;
/** A beginning of `/repository/path` as image references allow it. */
const pathStart =
  /^(?:\/(?:[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*\/)*(?:[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:[._]|__|-+)?)?)?$/;

/** Whether any image reference has this host, and a path that begins like this. */
function isReachable({ host, path }: Location): boolean {
  if (!pathStart.test(path) || path === "/") return false;
  if (host.startsWith("[")) return address.test(host);
  const { host: name, port } = splitPort(host);
  // Images of index.docker.io are looked up as images of docker.io. So with this host, only the
  // exact key to which the kubelet falls back can serve images.
  if (name === dockerHub && port === "") return host + path === dockerHub;
  const labels = name.split(".");
  if (!labels.every((label) => globLabel.test(label))) return false;
  // An image name can have an underscore before its first slash. Such a name has no port and no
  // capital.
  if (name.includes("_") && (port !== "" || /[A-Z]/.test(name))) return false;
  // `team/app` without a dot, a port or a capital is a Docker Hub image, not an image of the host
  // `team`.
  return labels.length > 1 || port !== "" || /[A-Z*]/.test(name) || name === "localhost";
}

/**
 * Whether a registry has a wildcard. The kubelet matches `*` within one label of the host. CRI-O
 * does not support wildcards.
 */
export function hasWildcard(registry: string): boolean {
  return hostOf(registry).includes("*");
}

/** The host (with port) of an identity. */
export function hostOf(registry: string): string {
  const slash = registry.indexOf("/");
  return slash < 0 ? registry : registry.slice(0, slash);
}

function pathOf(registry: string): string {
  return registry.slice(hostOf(registry).length);
}

/** Whether `general` matches every image that `specific` matches. Both arguments are identities. */
export function covers(general: string, specific: string): boolean {
  const [wide, narrow] = [served(general), served(specific)];
  return (
    pathOf(narrow).startsWith(pathOf(wide)) &&
    hostsRelate(hostOf(wide), hostOf(narrow), matchesLabel)
  );
}

/** Whether some image is matched by both registries. Both arguments are identities. */
export function overlaps(registry: string, other: string): boolean {
  const [a, b] = [served(registry), served(other)];
  const paths = pathOf(a).startsWith(pathOf(b)) || pathOf(b).startsWith(pathOf(a));
  return paths && hostsRelate(hostOf(a), hostOf(b), labelsMeet);
}

/** Whether the kubelet tries `first` before `second` for an image that both match. */
export function isTriedBefore(first: string, second: string): boolean {
  if (second === dockerHub) return first !== dockerHub;
  return first !== dockerHub && first > second;
}

/** Whether a key is the key that docker login writes for Docker Hub, in any spelling. */
export function isHubLogin(key: string): boolean {
  return identity(key) === dockerHub;
}

/**
 * Rewrites docker login's key for Docker Hub to `docker.io`, which the kubelet tries before
 * wildcards.
 */
export function asImages(key: string): string {
  return key.replace(/(^|[/@])index\.docker\.io(?=[/?#]|$)/, `$1${dockerHubImages}`);
}

/**
 * Whether an entry for this registry takes all images of Docker Hub from Docker Hub's own entry.
 */
export function hidesDockerHub(key: string): boolean {
  const registry = identity(key);
  return registry !== undefined && registry !== dockerHub && covers(registry, dockerHub);
}

/**
 * The registry whose images an entry serves: docker.io for Docker Hub's own entry, otherwise the
 * entry's registry. `registry` is an identity.
 */
export function served(registry: string): string {
  return registry === dockerHub ? dockerHubImages : registry;
}

function hostsRelate(a: string, b: string, relate: (a: string, b: string) => boolean): boolean {
  if (a === b) return true;
  const [leftHost, right] = [splitPort(a), splitPort(b)];
  const [leftLabels, rightLabels] = [leftHost.host.split("."), right.host.split(".")];
  if (leftHost.port !== right.port || leftLabels.length !== rightLabels.length) return false;
  return leftLabels.every((label, index) => relate(label, rightLabels[index] ?? ""));
}

/**
 * Image references as the kubelet reads them, with distribution/reference. A name without a host
 * means an image of Docker Hub.
 */

const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const label = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?";
const host = `(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
/**
 * The three digest algorithms that the kubelet supports; any other algorithm or length is an error.
 */
const digest = "sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}";
/**
 * If the first part is not a valid host, such as `a_b.io` in `a_b.io/x`, the kubelet accepts the
 * first part as part of the path. But to look up credentials, the kubelet uses the first part as
 * the host.
 */
const reference = new RegExp(
  `^((?:${host}/)?)(${part}(?:/${part})*)(?::(${tag}))?(?:@(${digest}))?$`,
);
/** Counted without the host. */
const longestPath = 255;

/**
 * `host/path` of an image reference, without tag and digest: the key for looking up credentials.
 * `nginx` is `docker.io/library/nginx`. `undefined`: the kubelet refuses the reference.
 */
export function repositoryOf(image: string): string | undefined {
  // The kubelet reads 64 hex digits as an image ID.
  if (/^[a-f0-9]{64}$/.test(image)) return undefined;
  const [, domain, path] = reference.exec(expand(image)) ?? [];
  return domain === undefined || path === undefined || path.length > longestPath
    ? undefined
    : domain + path;
}

/**
 * The digest, or else the tag, of a valid image reference, as the kubelet's runtime requests it.
 */
export function referenceOf(image: string): string {
  const [, , , tagged, pinned] = reference.exec(expand(image)) ?? [];
  return pinned ?? tagged ?? "latest";
}

function expand(image: string): string {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  if (slash < 0 || !isHost(first)) return expandHub(image);
  const rest = image.slice(slash + 1);
  return first === "docker.io" || first === "index.docker.io" ? expandHub(rest) : image;
}

function expandHub(rest: string): string {
  return rest.includes("/") ? `docker.io/${rest}` : `docker.io/library/${rest}`;
}

/**
 * A first part with a dot, a colon or a capital is a host. localhost is a host, too. Any other
 * first part is a user of Docker Hub.
 */
function isHost(first: string): boolean {
  return first === "localhost" || /[.:A-Z]/.test(first);
}

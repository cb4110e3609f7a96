/** Which of its entries the kubelet tries for an image, in its order (BasicDockerKeyring). */
import { matchesLabel } from "../registry/glob.ts";
import type { KubeletEntry } from "./kubelet.ts";
import { identity, normalise } from "../registry/registry.ts";
import { parseLocation, splitPort, type Location } from "../registry/url.ts";

/** Why an entry is not tried. */
type Ignored = Readonly<{ key: string; reason: string }>;

/** What is looked up: entries of a file, or only their registries. */
type Keyed = Readonly<{ key: string }>;

export type Match<Entry extends Keyed = KubeletEntry> = Readonly<{
  /**
   * In the order of trial. Entries of one group mean the same registry: among them the kubelet
   * draws the order each time it reads the file.
   */
  tries: readonly (readonly Entry[])[];
  ignored: readonly Ignored[];
}>;

const noMatch = "no image name can match it";
const dockerHub = "index.docker.io";

/** Looks a repository (`host/path`) up among the entries of a file. */
export function match<Entry extends Keyed>(
  entries: readonly Entry[],
  repository: string,
): Match<Entry> {
  const ignored: Ignored[] = [];
  const groups = new Map<string, Entry[]>();
  for (const entry of entries.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const key = normalise(entry.key);
    if (key === undefined)
      ignored.push({ key: entry.key, reason: "not a registry: the kubelet skips it" });
    else groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  const image = parseLocation(repository);
  const tries: Entry[][] = [];
  const hub = groups.get(dockerHub);
  // Backwards through the alphabet of bytes: a longer path comes before its beginning, `*` after
  // letters and digits.
  for (const key of [...groups.keys()].toSorted().toReversed()) {
    const group = groups.get(key) ?? [];
    const reason = image === undefined ? "the image's host is no address" : whyNot(key, image);
    if (reason === undefined) tries.push(group);
    else if (group !== hub) ignored.push(...group.map((entry) => ({ key: entry.key, reason })));
  }
  if (hub === undefined || tries.includes(hub)) return { tries, ignored };
  const fallback = isDockerHub(repository);
  if (fallback && tries.length === 0) return { tries: [hub], ignored };
  const reason = fallback
    ? "used only when no other entry matches"
    : "serves only images of Docker Hub";
  return { tries, ignored: [...ignored, ...hub.map(({ key }) => ({ key, reason }))] };
}

/**
 * The entries of such groups, one after the other, each with its place in the order. Those of one
 * number are drawn.
 */
export function inOrder<Entry extends KubeletEntry>(
  tries: Match<Entry>["tries"],
): (Entry & Readonly<{ order: number }>)[] {
  let tried = 0;
  return tries.flatMap((group) => {
    const first = tried + 1;
    tried += group.length;
    // With one credential the order makes no difference.
    const isDrawn = group.some((entry) => !isSame(entry, group[0]));
    return group.map((entry, at) => ({ ...entry, order: isDrawn ? first : first + at }));
  });
}

const isSame = (one: KubeletEntry, other: KubeletEntry | undefined): boolean =>
  other !== undefined && one.username.equals(other.username) && one.password.equals(other.password);

/** Why a key in its normal form does not match an image; `undefined` if it does. */
function whyNot(key: string, image: Location): string | undefined {
  const location = parseLocation(key);
  if (location === undefined) return noMatch;
  const reason = difference(location, image);
  return reason !== undefined && identity(key) === undefined ? noMatch : reason;
}

function difference(location: Location, image: Location): string | undefined {
  const [pattern, target] = [splitPort(location.host), splitPort(image.host)];
  const [labels, names] = [pattern.host.split("."), target.host.split(".")];
  const sameHost =
    labels.length === names.length &&
    labels.every((label, i) => matchesLabel(label, names[i] ?? ""));
  if (!sameHost) return "another host";
  if (pattern.port !== target.port) return "another port";
  // Plain text: `a.io/foo` is tried for `a.io/foobar/x`.
  return image.path.startsWith(location.path) ? undefined : "another path";
}

/** The kubelet takes a host without dot and port, such as localhost, for Docker Hub too. */
function isDockerHub(repository: string): boolean {
  const host = repository.slice(0, repository.indexOf("/"));
  return host === "docker.io" || host === dockerHub || !/[.:]/.test(host);
}

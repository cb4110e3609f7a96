/** The entries that the kubelet tries for an image, in its order (BasicDockerKeyring). */
import { matchesLabel } from "../registry/glob.ts";
import { readAsKubelet, type KubeletEntry } from "./kubelet.ts";
import { identity, normalise } from "../registry/registry.ts";
import { parseLocation, splitPort, type Location } from "../registry/url.ts";
import { redactKey } from "../problems/keypath.ts";
import { problem, type Problem } from "../problems/problems.ts";
import { shownUser } from "../problems/token.ts";
import { repositoryOf } from "../registry/image.ts";

/** Why an entry is not tried. */
type Ignored = Readonly<{ key: string; reason: string }>;

/** Entries of a file, or only their registries. */
type Keyed = Readonly<{ key: string }>;

export type Match<Entry extends Keyed = KubeletEntry> = Readonly<{
  /**
   * The entries that the kubelet tries, in its order. The entries of one group mean the same
   * registry. The kubelet tries them in a random order, which changes each time it reads the file.
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
  // In descending order of bytes. So a path comes before any shorter path that it begins with, and
  // `*` comes after letters and digits.
  for (const key of [...groups.keys()].toSorted().toReversed()) {
    const group = groups.get(key) ?? [];
    const reason = image === undefined ? "the image's host is not an address" : whyNot(key, image);
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
 * The entries of the groups, one after the other, each with its place in the order. Entries with
 * the same place are tried in random order.
 */
export function inOrder<Entry extends KubeletEntry>(
  tries: Match<Entry>["tries"],
): (Entry & Readonly<{ order: number }>)[] {
  let tried = 0;
  return tries.flatMap((group) => {
    const first = tried + 1;
    tried += group.length;
    // If all entries of a group have the same credential, their order makes no difference.
    const isDrawn = group.some((entry) => !isSame(entry, group[0]));
    return group.map((entry, at) => ({ ...entry, order: isDrawn ? first : first + at }));
  });
}

const isSame = (entry: KubeletEntry, other: KubeletEntry | undefined): boolean =>
  other !== undefined &&
  entry.username.equals(other.username) &&
  entry.password.equals(other.password);

/** Why a key in its normal form does not match an image; `undefined` if the key matches. */
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
  // The kubelet compares plain text, so it also tries `a.io/foo` for `a.io/foobar/x`.
  return image.path.startsWith(location.path) ? undefined : "another path";
}

/**
 * The kubelet also treats a host without a dot and without a port, such as localhost, as Docker
 * Hub.
 */
function isDockerHub(repository: string): boolean {
  const host = repository.slice(0, repository.indexOf("/"));
  return host === "docker.io" || host === dockerHub || !/[.:]/.test(host);
}

export type Explanation = Readonly<{
  image: string;
  /**
   * The entries in the kubelet's order. The kubelet tries entries with the same `order` in a random
   * order, which changes each time it reads the file.
   */
  tries: readonly Readonly<{ registry: string; username: string; order: number }>[];
  /** Every other entry of the file. */
  ignored: readonly Readonly<{ registry: string; reason: string }>[];
}>;

/**
 * The credentials of a file that the kubelet would try for an image. Works for any bytes. If the
 * kubelet drops the whole file, nothing is tried, and `dropped` has the reason. The result contains
 * no password, and no user name that serves as a password. `undefined`: the image is not a valid
 * reference.
 */
export function explain(
  bytes: Uint8Array,
  image: string,
  source: string,
): { explanation: Explanation; dropped?: Problem } | undefined {
  const repository = repositoryOf(image);
  if (repository === undefined) return undefined;
  const file = readAsKubelet(bytes);
  if (!file.ok) {
    const dropped = problem(file.kind, source, file.path);
    const reason = `the kubelet drops the whole file: ${file.path}: ${dropped.what}`;
    const ignored = file.keys.map((key) => ({ registry: redactKey(key), reason }));
    return { explanation: { image, tries: [], ignored }, dropped };
  }
  const { tries, ignored } = match(file.entries, repository);
  return {
    explanation: {
      image,
      tries: inOrder(tries).map(({ key, username, password, order }) => ({
        registry: redactKey(key),
        username: shownUser(username.toString("utf8"), password.toString("utf8")),
        order,
      })),
      ignored: ignored.map(({ key, reason }) => ({ registry: redactKey(key), reason })),
    },
  };
}

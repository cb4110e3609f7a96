/**
 * The kubelet's search for credentials, and the file that our config.json would hide from it. Pure.
 *
 * The kubelet takes the first file that it can parse and merges nothing
 * (pkg/credentialprovider/config.go). It first tries config.json in its root directory, its working
 * directory, $HOME/.docker and /.docker. Then it tries .dockercfg in its root directory, its
 * working directory, $HOME and /.
 */
import { join } from "node:path";
import { credentialFiles } from "#contract/names.ts";

/**
 * The kubelet's view of one file. `none`: it is missing or cannot be parsed. `empty`: it has no
 * entry. `unknown`: the reason why we cannot tell.
 */
export type FileContent = "none" | "empty" | "entries" | Readonly<{ unknown: string }>;

/** Credential files that the pod's first container found on the node: paths only. */
export type SearchResult =
  /** By path on the node. */
  | Readonly<{ kind: "seen"; files: Readonly<Record<string, FileContent>> }>
  /** Our journal exists, so config.json has hidden the same files before. */
  | Readonly<{ kind: "ours" }>
  | Readonly<{ kind: "unseen"; why: string }>;

/** The surroundings of the kubelet's process. `home` is undefined if systemd sets none. */
export type Surroundings = Readonly<{ workingDirectory: string; home: string | undefined }>;

export type Hides =
  | Readonly<{ kind: "nothing" }>
  | Readonly<{ kind: "file" | "unknown"; what: string }>;

/** The legacy file. The agent can read it only in the kubelet's own directory. */
export const legacyName = ".dockercfg";

/**
 * The paths that this kubelet searches after its own directory, in this order. Without HOME,
 * `.docker` is a relative path.
 */
export function searchPaths({ workingDirectory, home }: Surroundings): readonly string[] {
  const own = home ?? workingDirectory;
  return [
    join(workingDirectory, "config.json"),
    join(own, ".docker/config.json"),
    "/.docker/config.json",
    legacyName,
    join(workingDirectory, legacyName),
    join(own, legacyName),
    join("/", legacyName),
  ];
}

/**
 * The file that a new config.json would hide. `beside`: .dockercfg in the kubelet's directory.
 * Without systemd, the kubelet's surroundings are unknown, and every file counts.
 */
export function hidden(
  sight: SearchResult,
  beside: FileContent,
  around: Surroundings | undefined,
): Hides {
  if (sight.kind === "unseen") return { kind: "unknown", what: sight.why };
  // The journal existed when the pod's first container searched. Since then, another program might
  // have removed the journal and config.json. A new config.json hides only the files that the old
  // config.json hid.
  if (sight.kind === "ours") return { kind: "nothing" };
  const files: Readonly<Record<string, FileContent>> = { ...sight.files, [legacyName]: beside };
  for (const path of around ? searchPaths(around) : [...credentialFiles, legacyName]) {
    const content = files[path];
    if (content === undefined)
      return { kind: "unknown", what: `it also searches ${path}, which was not checked` };
    const one = hiddenAt(path, content);
    if (one !== undefined) return one;
    // The kubelet can parse this file, so it searches no further.
    if (content === "empty" && around) break;
  }
  return { kind: "nothing" };
}

/**
 * The credential file at this path that a new config.json would hide, or might hide; undefined if
 * there is none.
 */
export function hiddenAt(path: string, content: FileContent): Hides | undefined {
  if (typeof content === "object") return { kind: "unknown", what: `${path}: ${content.unknown}` };
  return content === "entries" ? { kind: "file", what: path } : undefined;
}

/**
 * The kubelet's surroundings as reported by systemd. HOME comes from the first of these that sets
 * it: the unit, the unit's user, the manager. EnvironmentFile= is not read, because no known
 * kubelet gets its HOME from there.
 */
export function surroundings(
  service: Readonly<{
    workingDirectory: string;
    user: string;
    environment: readonly string[];
    manager: readonly string[];
  }>,
): Surroundings {
  const homeIn = (lines: readonly string[]) =>
    lines.findLast((line) => line.startsWith("HOME="))?.slice(5);
  // Another user's home is unknown. This placeholder is never among the searched paths.
  const ofUser = ["root", "0"].includes(service.user)
    ? "/root"
    : service.user && `/home of ${service.user}`;
  const home = homeIn(service.environment) ?? (ofUser || homeIn(service.manager));
  // A leading `!` means that systemd ignores a missing directory; `~` is the user's home.
  const directory = service.workingDirectory.replace(/^!/, "").replace(/^~$/, ofUser || "/root");
  return { workingDirectory: directory || "/", home: home || undefined };
}

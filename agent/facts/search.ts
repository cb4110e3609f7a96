/**
 * Where the kubelet searches for credentials, and what a config.json of ours would hide from it.
 * Pure.
 *
 * It takes the first file that parses and merges nothing (pkg/credentialprovider/config.go):
 * config.json of its root directory, its working directory, $HOME/.docker and /.docker, then
 * .dockercfg of the same four, the last two without .docker.
 */
import { join } from "node:path";
import { credentialFiles } from "#contract/names.ts";

/**
 * What the kubelet makes of one file. `none`: it is missing, or does not parse. `empty`: it parses,
 * and has no entry. `unknown`: why that cannot be told.
 */
export type FileContent = "none" | "empty" | "entries" | Readonly<{ unknown: string }>;

/** What the pod's first container saw of the node; paths only. */
export type Sight =
  /** By path on the node. */
  | Readonly<{ kind: "seen"; files: Readonly<Record<string, FileContent>> }>
  /** Our journal lies there: whatever config.json hides, it hid before. */
  | Readonly<{ kind: "ours" }>
  | Readonly<{ kind: "unseen"; why: string }>;

/** Of the kubelet's process; `home` is undefined where systemd sets none. */
export type Surroundings = Readonly<{ workingDirectory: string; home: string | undefined }>;

export type Hides =
  | Readonly<{ kind: "nothing" }>
  | Readonly<{ kind: "file" | "unknown"; what: string }>;

/** The file in the kubelet's own directory, which the agent itself can see. */
export const legacyName = ".dockercfg";

/**
 * The paths that this kubelet searches after its own directory, in its order. Without HOME
 * `.docker` is a relative path.
 */
export function searched({ workingDirectory, home }: Surroundings): readonly string[] {
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
 * What a first config.json would hide. `beside`: .dockercfg in the kubelet's directory. Where the
 * kubelet's surroundings are unknown, because there is no systemd to ask, every file seen counts.
 */
export function hidden(sight: Sight, beside: FileContent, around: Surroundings | undefined): Hides {
  if (sight.kind === "unseen") return { kind: "unknown", what: sight.why };
  // Journal and config.json may be gone since: what it hides now, it hid then.
  if (sight.kind === "ours") return { kind: "nothing" };
  const files: Readonly<Record<string, FileContent>> = { ...sight.files, [legacyName]: beside };
  for (const path of around ? searched(around) : [...credentialFiles, legacyName]) {
    const content = files[path];
    if (content === undefined)
      return { kind: "unknown", what: `it searches ${path}, where nobody looked` };
    const one = hiddenAt(path, content);
    if (one !== undefined) return one;
    // It parses, so the kubelet searches no further.
    if (content === "empty" && around) break;
  }
  return { kind: "nothing" };
}

/** The same of one file alone; undefined if it would hide nothing there. */
export function hiddenAt(path: string, content: FileContent): Hides | undefined {
  if (typeof content === "object") return { kind: "unknown", what: `${path}: ${content.unknown}` };
  return content === "entries" ? { kind: "file", what: path } : undefined;
}

/**
 * The kubelet's surroundings, by what systemd says. HOME is the unit's own, else its user's, else
 * the manager's. EnvironmentFile= is not read: no known kubelet gets its HOME from there.
 */
export function surroundings(
  said: Readonly<{
    workingDirectory: string;
    user: string;
    environment: readonly string[];
    manager: readonly string[];
  }>,
): Surroundings {
  const homeIn = (lines: readonly string[]) =>
    lines.findLast((line) => line.startsWith("HOME="))?.slice(5);
  // Another user's home is unknown: the path that stands for it was looked at by nobody.
  const ofUser = ["root", "0"].includes(said.user) ? "/root" : said.user && `/home of ${said.user}`;
  const home = homeIn(said.environment) ?? (ofUser || homeIn(said.manager));
  // `!` before it: systemd does without it where it is missing; `~`: the user's home.
  const directory = said.workingDirectory.replace(/^!/, "").replace(/^~$/, ofUser || "/root");
  return { workingDirectory: directory || "/", home: home || undefined };
}

/**
 * The directory of hosts.toml files in containerd's configuration
 * (cmd/containerd/server/config/config.go). Pure.
 */
import { dirname, isAbsolute, join, normalize } from "node:path/posix";
import { isTable, isText, readToml } from "./toml.ts";

/** How the files are read, by their paths on the node. Both throw the error of the system. */
export type ConfigFiles = Readonly<{
  read: (path: string) => Uint8Array;
  list: (directory: string) => readonly string[];
}>;

/** Why containerd does not use a directory that we can write. */
type Unused = Readonly<{ why: string }>;

const imagesPlugin = "io.containerd.cri.v1.images";
/** Far more files than a configuration has. */
const mostFiles = 100;

/**
 * The only directory in which containerd looks for hosts.toml, from its configuration and all
 * imports, or why there is none.
 *
 * Only version 3 counts: containerd 1 also reads version 2, and does not send the headers of
 * hosts.toml to token services. The default does not count either: containerd 2.2 sets a list of
 * two directories, which the transfer service, its usual way to pull, takes for one path
 * (containerd/containerd#12808).
 */
export function hostsDirectory(file: string, files: ConfigFiles): string | Unused {
  const pending = [file];
  const loaded = new Set<string>();
  let directory: unknown;
  for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
    if (loaded.has(path)) continue;
    loaded.add(path);
    if (loaded.size > mostFiles) return { why: `${file} imports more than ${mostFiles} files` };
    const document = readToml(files.read(path));
    if (document === undefined) return { why: `${path} is not TOML` };
    const { version, imports = [], plugins = {} } = document;
    // An import without a version is read like the file that imports it.
    if (version !== 3n && (version !== undefined || path === file))
      return { why: `${path} is not of version 3; run containerd config migrate` };
    const images = isTable(plugins) ? plugins[imagesPlugin] : undefined;
    const registry = isTable(images) ? images["registry"] : undefined;
    const own = isTable(registry) ? registry["config_path"] : undefined;
    // As containerd merges: a later file replaces what an earlier one sets, unless it is empty.
    if (own !== undefined && own !== "") directory = own;
    if (!Array.isArray(imports) || !imports.every(isText))
      return { why: `imports of ${path} is not a list of paths` };
    if (imports.some((pattern) => /[[?\\]|\*.*\//.test(pattern)))
      return { why: `imports of ${path} has a pattern with more than stars in the last part` };
    for (const pattern of imports) pending.push(...resolved(pattern, path, files));
  }
  if (directory === undefined) return { why: "config_path is not set" };
  if (!isText(directory) || !isAbsolute(directory) || directory.includes(":"))
    return { why: "config_path is not the path of one directory" };
  return normalize(directory).replace(/(.)\/$/, "$1");
}

/** The files of an import. Only the last part of a pattern can contain stars. */
function resolved(pattern: string, parent: string, files: ConfigFiles): readonly string[] {
  const path = isAbsolute(pattern) ? normalize(pattern) : join(dirname(parent), pattern);
  if (!path.includes("*")) return [path];
  const expression = path
    .slice(dirname(path).length + 1)
    .replaceAll(/[\\^$.|?+(){}[\]]/g, String.raw`\$&`)
    .replaceAll("*", "[^/]*");
  const names = files
    .list(dirname(path))
    .filter((name) => new RegExp(`^${expression}$`).test(name));
  return names.toSorted().map((name) => join(dirname(path), name));
}

/**
 * Finds the credential files that a new config.json would hide from the kubelet. Reports paths,
 * never contents.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { podFiles } from "#contract/names.ts";
import type { Config } from "../facts/config.ts";
import { isObject, type Json } from "#pullsecret/json/json.ts";
import { hasCode } from "../files/errno.ts";
import {
  type FileContent,
  hidden,
  hiddenAt,
  type Hides,
  legacyName,
  type SearchResult,
  type Surroundings,
  surroundings,
} from "../facts/search.ts";
import { Stopped } from "../systemd/connection.ts";
import type { Systemd } from "../systemd/systemd.ts";
import type { Unit } from "../systemd/unit.ts";
import { readAsKubelet } from "#pullsecret/kubelet/kubelet.ts";
import { readRegular } from "../files/own-file.ts";

/**
 * The file that a new config.json would hide from the kubelet of this unit. Throws only Stopped.
 */
export async function askHides(
  {
    hiddenFiles,
    podDirectory,
    kubeletDirectory,
  }: Pick<Config, "hiddenFiles" | "podDirectory" | "kubeletDirectory">,
  systemd: Pick<Systemd, "surroundings">,
  unit: Unit | undefined,
): Promise<Hides> {
  if (hiddenFiles === "Ignore") return { kind: "nothing" };
  const beside = contentOf(join(kubeletDirectory, legacyName), true);
  // Without a mount of the root directory, only this `.dockercfg` can be checked.
  if (hiddenFiles === "Skip") return hiddenAt(legacyName, beside) ?? { kind: "nothing" };
  return hidden(
    readSearchResult(join(podDirectory, podFiles.hidden)),
    beside,
    await kubeletSurroundings(systemd, unit),
  );
}

async function kubeletSurroundings(
  systemd: Pick<Systemd, "surroundings">,
  unit: Unit | undefined,
): Promise<Surroundings | undefined> {
  if (unit === undefined) return undefined;
  try {
    return surroundings(await systemd.surroundings(unit.name));
  } catch (error) {
    if (error instanceof Stopped) throw error;
    // `hidden` then counts every file that any kubelet might use.
    return undefined;
  }
}

/**
 * The result of the pod's first container: a few hundred bytes, in a directory that only this pod
 * can write to.
 */
function readSearchResult(file: string): SearchResult {
  try {
    const value = JSON.parse(readFileSync(file, "utf8")) as Json;
    if (isObject(value) && value["kind"] === "ours") return { kind: "ours" };
    if (isObject(value) && isObject(value["files"]))
      return { kind: "seen", files: value["files"] as Readonly<Record<string, FileContent>> };
    return { kind: "unseen", why: "the pod's first container wrote an unreadable result" };
  } catch (error) {
    const nothing = hasCode(error, "ENOENT") ? "wrote nothing" : "wrote an unreadable result";
    return { kind: "unseen", why: `the pod's first container ${nothing}` };
  }
}

/**
 * The largest known pull secrets have 100 KiB. The container does not have enough memory to parse a
 * file with a million values.
 */
const mostBytes = 256 * 1024;

/**
 * The kubelet's view of one credential file. Never throws, never blocks on a FIFO, and never
 * follows a symbolic link at the end of the path.
 */
export function contentOf(file: string, legacy: boolean): FileContent {
  try {
    const read = readRegular(file, mostBytes, "refuse");
    if ("large" in read) return { unknown: `it has ${read.large} bytes` };
    // The kubelet also reads only regular files.
    return "irregular" in read ? "none" : judge(read.bytes, legacy);
  } catch (error) {
    if (hasCode(error, "ENOENT") || hasCode(error, "ENOTDIR")) return "none";
    if (hasCode(error, "ELOOP")) return { unknown: "it is a symbolic link" };
    return {
      unknown: error instanceof Error && "code" in error ? String(error.code) : "it cannot be read",
    };
  }
}

/** A legacy file contains only what the other format has below `auths`. */
function judge(bytes: Buffer, legacy: boolean): FileContent {
  const reading = readAsKubelet(
    legacy ? Buffer.concat([Buffer.from('{"auths":'), bytes, Buffer.from("}")]) : bytes,
  );
  if (!reading.ok) return "none";
  return reading.entries.length > 0 ? "entries" : "empty";
}

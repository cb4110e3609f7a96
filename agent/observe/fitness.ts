/** What only the preflight asks: what a config.json of ours would hide. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { podFiles } from "#contract/names.ts";
import { contentOf } from "./candidates.ts";
import type { Config } from "../config/config.ts";
import { isObject, type Json } from "#pullsecret/json/json.ts";
import { hasCode } from "../files/errno.ts";
import {
  type FileContent,
  hidden,
  hiddenAt,
  type Hides,
  legacyName,
  type Sight,
  type Surroundings,
  surroundings,
} from "../facts/search.ts";
import type { Systemd } from "../systemd/systemd.ts";
import type { Unit } from "../systemd/unit.ts";

/**
 * What config.json, where there is none, would hide from the kubelet of this unit. Never throws.
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
  // The one file that needs no mount of the root directory.
  if (hiddenFiles === "Skip") return hiddenAt(legacyName, beside) ?? { kind: "nothing" };
  return hidden(
    readSight(join(podDirectory, podFiles.hidden)),
    beside,
    await around(systemd, unit),
  );
}

async function around(
  systemd: Pick<Systemd, "surroundings">,
  unit: Unit | undefined,
): Promise<Surroundings | undefined> {
  if (unit === undefined) return undefined;
  try {
    return surroundings(await systemd.surroundings(unit.name));
  } catch {
    // Then every file counts that any kubelet may search.
    return undefined;
  }
}

/**
 * What the pod's first container wrote; a few hundred bytes in a folder that only this pod can
 * write to.
 */
function readSight(file: string): Sight {
  try {
    const value = JSON.parse(readFileSync(file, "utf8")) as Json;
    if (isObject(value) && value["kind"] === "ours") return { kind: "ours" };
    if (isObject(value) && isObject(value["files"]))
      return { kind: "seen", files: value["files"] as Readonly<Record<string, FileContent>> };
    return { kind: "unseen", why: "what the pod's first container wrote cannot be read" };
  } catch (error) {
    const nothing = hasCode(error, "ENOENT") ? "wrote nothing" : "wrote what cannot be read";
    return { kind: "unseen", why: `the pod's first container ${nothing}` };
  }
}

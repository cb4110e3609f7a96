/**
 * Gathers the facts for one decision. Asks systemd only when the decision may need it: at rest there is no bus traffic.
 *
 * Files are read with blocking calls: they are small and on the node's own disk, and some twenty trips through Node's
 * thread pool cost three times as much as the calls themselves.
 */
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "../pullsecret/names.ts";
import type { Config } from "./config.ts";
import { hasCode } from "./errno.ts";
import type { Facts, UnitFact } from "./facts.ts";
import type { JournalReading } from "./journal.ts";
import { type Mounted, readMounted } from "./mounted.ts";
import { type NodeFile, readNodeFile } from "./nodefile.ts";
import { plan } from "./plan.ts";
import type { Deeds, Steady } from "./steady.ts";
import type { Systemd } from "./systemd.ts";

export type Senses = Readonly<{
  config: Config;
  systemd: Systemd;
  healthz: () => Promise<boolean>;
  acquire: () => Promise<boolean>;
  now: () => number;
  mayChown: boolean;
  steady: Steady;
  deeds: Deeds;
}>;

export async function look(senses: Senses): Promise<Facts> {
  const { config, steady } = senses;
  const under = (name: string) => join(config.kubeletDirectory, name);
  const alone = await senses.acquire();
  const busy = alone && config.revision > 0;
  const journal: JournalReading = busy ? await readJournalFile(under(nodeFiles.journal)) : { kind: "none" };
  // A rollback goes where it went; with the largest files there is no memory to spare.
  const goingBack = journal.kind === "journal" && ["restoring", "reviving"].includes(journal.journal.phase);
  const mounted: Mounted =
    busy && !goingBack ? readMounted(config.secretDirectory) : { kind: "incomplete", why: "not read" };
  const file: NodeFile = busy ? readNodeFile(under(nodeFiles.config), senses.mayChown) : { kind: "changing" };
  const lost = journal.kind === "none" && existsSync(under(corruptJournal));
  const left = journal.kind === "none" && isDirectory(under(nodeFiles.folder));
  const needed = asks(config, mounted, journal, file, lost);
  const unit = needed.unit && (await askUnit(senses, needed.unit));
  const healthy = busy && needed.healthz && (await senses.healthz());
  const running =
    unit !== undefined && "active" in unit && unit.active === "active" && unit.mainPid > 0
      ? unit.invocation
      : undefined;
  const quarantine = journal.kind === "journal" ? journal.journal.quarantine : undefined;
  return {
    config,
    now: senses.now(),
    alone,
    mounted,
    journal,
    lost,
    left,
    file,
    unit,
    healthy,
    steady: {
      file: steady.held("file", file.kind === "file" ? file.digest : file.kind),
      running: steady.held("running", running),
      healthy: steady.held("healthy", healthy ? running : undefined),
      quarantine: steady.held("quarantine", quarantine && `${quarantine.revision} ${quarantine.failures}`),
    },
    writeIn: senses.deeds.writeIn(),
    restarts: senses.deeds.restarts,
  };
}

/** An unreadable journal is kept under this name until the folder goes. */
export const corruptJournal = `${nodeFiles.journal}.corrupt`;

/** `load`: before anything is written it is enough to know that there will be something to restart. */
type Asks = Readonly<{ unit: "whole" | "load" | undefined; healthz: boolean }>;

/**
 * Whom the decision has to ask: about the unit not at rest, about healthz not before config.json is written, nor before the
 * restart for which it was written.
 */
function asks(config: Config, mounted: Mounted, reading: JournalReading, file: NodeFile, lost: boolean): Asks {
  const rest: Asks = { unit: undefined, healthz: true };
  if (config.restart === "Never" || reading.kind === "newer" || reading.kind === "corrupt") return rest;
  const journal = reading.kind === "journal" ? reading.journal : undefined;
  if (journal !== undefined && journal.phase !== "applied") {
    const awaitsRestart = journal.phase === "applying" && journal.matters;
    return { unit: "whole", healthz: !awaitsRestart };
  }
  if (mounted.kind !== "document" || mounted.revision !== config.revision) return rest;
  if (file.kind !== "file" && file.kind !== "absent") return rest;
  return plan(file, journal, mounted, lost).changed ? { unit: "load", healthz: false } : rest;
}

async function askUnit({ systemd }: Senses, what: "whole" | "load"): Promise<UnitFact> {
  try {
    return await (what === "load" ? systemd.load() : systemd.unit());
  } catch (error) {
    return { unknown: error instanceof Error ? error.message : String(error) };
  }
}

async function readJournalFile(file: string): Promise<JournalReading> {
  try {
    const bytes = readFileSync(file);
    const { readJournal } = await import("./gate.ts");
    return readJournal(bytes);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { kind: "none" };
    throw error;
  }
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

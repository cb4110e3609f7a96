/**
 * Gathers the facts for one decision. Asks systemd only when the decision may need it: at rest
 * there is no bus traffic.
 *
 * Files are read with blocking calls: they are small and on the node's own disk, and some twenty
 * trips through Node's thread pool cost three times as much as the calls themselves.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "../contract/names.ts";
import { auto } from "../contract/values.ts";
import { bootTime } from "./boot.ts";
import { BusError } from "./bus.ts";
import type { Config } from "./config.ts";
import { found, kubeletUnits, owing, policyFor } from "./distributions.ts";
import { describe, hasCode } from "./errno.ts";
import type { Facts, UnitFact } from "./facts.ts";
import { askHides, unwatched } from "./fitness.ts";
import { isKept } from "./hold.ts";
import type { JournalReading } from "./journal.ts";
import { type Mounted, readMounted } from "./mounted.ts";
import { type NodeFile, readNodeFile } from "./nodefile.ts";
import { plan } from "./plan.ts";
import { isLeft } from "./replace.ts";
import { isRunning, progress } from "./state.ts";
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
  const { config, steady, systemd } = senses;
  const under = (name: string) => join(config.kubeletDirectory, name);
  const alone = await senses.acquire();
  const reading: JournalReading = alone ? await readJournalFile(under(nodeFiles.journal)) : { kind: "none" };
  const journal = reading.kind === "journal" ? reading.journal : undefined;
  // A rollback goes where it went; with the largest files there is no memory to spare.
  const goingBack = journal !== undefined && ["restoring", "reviving"].includes(journal.phase);
  const reads = alone && config.revision > 0 && !goingBack;
  const mounted: Mounted = reads ? readMounted(config.secretDirectory) : { kind: "incomplete", why: "not read" };
  const file: NodeFile = alone ? readNodeFile(under(nodeFiles.config), senses.mayChown) : { kind: "changing" };
  const lost = existsSync(under(corruptJournal));
  const left = reading.kind === "none" && isLeft(under(nodeFiles.folder));
  const asked = alone ? asks(config, mounted, reading, file, lost) : "nobody";
  const unit = asked === "nobody" ? undefined : await askUnit(senses, reading);
  const whole = unit !== undefined && "name" in unit ? unit : undefined;
  const healthy = alone && (await senses.healthz());
  const running = whole !== undefined && isRunning(whole) ? whole.invocation : undefined;
  const quarantine = journal?.quarantine;
  return {
    config: { ...config, restart: policyFor(config, whole?.name ?? owing(config.unit, reading)) },
    now: senses.now(),
    time: bootTime(),
    alone,
    mounted,
    journal: reading,
    lost,
    left,
    file,
    unit,
    healthy,
    hides: asked === "fit" ? await askHides(config, systemd, whole) : { kind: "nothing" },
    unwatched: asked === "fit" ? unwatched(config.kubeletDirectory) : undefined,
    steady: {
      file: steady.held("file", file.kind === "file" ? file.digest : file.kind),
      running: steady.held("running", running),
      healthy: steady.held("healthy", healthy ? running : undefined),
      busy: steady.held("busy", progress(unit)),
      quarantine: steady.held("quarantine", quarantine && `${quarantine.revision} ${quarantine.failures}`),
    },
    writeIn: senses.deeds.writeIn(),
    restarts: senses.deeds.restarts,
    sinceRestart: senses.deeds.sinceRestart(),
    unwritable: senses.deeds.unwritable,
  };
}

/** An unreadable journal is kept under this name until the folder goes. */
export const corruptJournal = `${nodeFiles.journal}.corrupt`;

/**
 * What the decision has to know besides the files: at rest nothing; while a change is under way how
 * its unit is (`owed`); before one begins, and at revision 0, whether the node is fit for it.
 */
function asks(
  config: Config,
  mounted: Mounted,
  reading: JournalReading,
  file: NodeFile,
  lost: boolean,
): "nobody" | "owed" | "fit" {
  if (config.revision === 0) return "fit";
  if (reading.kind === "corrupt") return "nobody";
  if (reading.kind === "newer") return reading.owes ? "owed" : "nobody";
  const journal = reading.kind === "journal" ? reading.journal : undefined;
  if (journal !== undefined && journal.phase !== "applied") return "owed";
  if (mounted.kind !== "document" || mounted.revision !== config.revision) return "nobody";
  if (mounted.digest !== config.digest) return "nobody";
  if (file.kind !== "file" && file.kind !== "absent") return "nobody";
  // Kept as it is, or put right without a restart.
  if (isKept(journal, mounted)) return "nobody";
  const begins = (journal === undefined && lost) || plan(file, journal, mounted, lost).changed;
  return begins ? "fit" : "nobody";
}

/**
 * The unit whose restart is, or will be, owed: the one that a flag names, that the change began
 * with, or that is found.
 */
async function askUnit({ systemd, config }: Senses, reading: JournalReading): Promise<UnitFact> {
  const known = owing(config.unit, reading);
  // There is no bus.
  if (config.restart === "Never") return undefined;
  const underWay = reading.kind === "newer" || (reading.kind === "journal" && reading.journal.phase !== "applied");
  try {
    if (known !== undefined && (underWay || config.unit !== auto)) return await systemd.unit(known);
    const one = found(await systemd.states(kubeletUnits));
    if (!("unfound" in one)) return await systemd.unit(one.name);
    // It is down: who stopped it, and whether it matters, is for the decision to tell.
    const former = known ?? (underWay ? formerUnit : undefined);
    return former === undefined || one.several ? { unfound: one.unfound } : await systemd.unit(former);
  } catch (error) {
    return { unknown: describe(error), outdated: error instanceof BusError && error.type.endsWith(".UnknownProperty") };
  }
}

/** Agents whose journals name no unit restarted this one by default. */
const formerUnit = "kubelet.service";

/** Three times what the largest Secret and the largest config.json make of it. */
const mostJournalBytes = 32 * 1024 * 1024;

async function readJournalFile(file: string): Promise<JournalReading> {
  try {
    if (statSync(file).size > mostJournalBytes) return { kind: "corrupt", why: "more than 32 MiB" };
    const bytes = readFileSync(file);
    const { readJournal } = await import("./gate.ts");
    return readJournal(bytes);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { kind: "none" };
    throw error;
  }
}

/** Executes a step: first the journal, then one action. The agent can be killed at any instant. */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import type { Config } from "./facts/config.ts";
import { makeFolder, removeFolder } from "./journal/folder.ts";
import { denied, type Journal } from "./journal/journal.ts";
import type { Delivery, FoundFile, Rewrite } from "./delivery/delivery.ts";
import type { Lock } from "./report/lock.ts";
import { codes, formatLine, type Step } from "./facts/step.ts";
import { describe, hasCode } from "./files/errno.ts";
import { FileChanged, identify } from "./files/atomic-write.ts";
import type { History } from "./observe/stopwatch.ts";
import { saveJournal, restoreJournal, setAside } from "./journal/store.ts";
import { SystemdError, isDefinite, RestartRefused } from "./systemd/connection.ts";
import type { Systemd } from "./systemd/systemd.ts";

export type Effects = Readonly<{
  config: Config;
  systemd: Systemd;
  history: History;
  delivery: Delivery;
  lock: Pick<Lock, "release">;
}>;

/**
 * Executes the step. Returns text to log in addition to the step, if any. Throws errors of the file
 * system and of systemd.
 */
export async function act(step: Step, effects: Effects): Promise<string | undefined> {
  switch (step.action) {
    case "wait":
    case "nothing":
      return undefined;
    case "apply":
      await apply(step, effects);
      return warning(step);
    case "restore":
      await write(step.plan, step.file, effects);
      return undefined;
    case "clean":
      await clean(step, effects);
      return undefined;
    case "restart":
      return await restart(step, effects);
    case "revive":
      return await revive(step.unit, effects);
    case "record":
      await keep(step.journal, effects);
      return undefined;
    case "set aside":
      setAside(under(effects, nodeFiles.folder));
      return undefined;
    case "leave":
      await leave(effects);
      return undefined;
  }
}

type ToClean = Extract<Step, { action: "clean" }>;
type ToApply = Extract<Step, { action: "apply" }>;

async function apply(step: ToApply, effects: Effects): Promise<void> {
  try {
    await keep(step.journal, effects);
    await write(step.plan, step.file, effects);
  } catch (error) {
    const { former } = step;
    if (former !== undefined && isForbidden(error) && (await isUntouched(step, effects))) {
      await restoreJournal(under(effects, nodeFiles.folder), former.journal);
      effects.history.unwritable = false;
      effects.history.block(describe(error));
    }
    throw error;
  }
}

/**
 * Writes the file and removes our folder in one action. If these were two actions, the agent could
 * be killed between them, and our folder would remain.
 */
async function clean({ plan, file }: ToClean, effects: Effects): Promise<void> {
  try {
    // The new file is staged in our folder.
    await makeFolder(under(effects, nodeFiles.folder));
    await write(plan, file, effects);
  } finally {
    await leave(effects);
  }
}

async function leave(effects: Effects): Promise<void> {
  await removeFolder(under(effects, nodeFiles.folder), () => effects.lock.release());
}

/**
 * Whether the former journal is right again after a failed write. The agent writes the provider's
 * answer first, and then config.json. If only the answer was written, this function puts the old
 * answer back. A withdrawal might have emptied the answer, but then the former journal still lists
 * the answer as ours, and no restart is due. If config.json has changed, or the old answer cannot
 * be put back, the journal of the change must stay, because no other journal records the restart
 * that is due. That journal also stays if the agent is killed before it restores the former
 * journal. The agent then tries the change again.
 */
async function isUntouched({ plan, file }: ToApply, effects: Effects): Promise<boolean> {
  const { first } = plan;
  try {
    if (identify(under(effects, nodeFiles.config)) !== file.identity) return false;
    if (first === undefined) return true;
    const expected = identify(under(effects, first.name));
    if (expected === first.expected) return true;
    if (first.former === undefined) return false;
    const old = { ...first, bytes: first.former, expected };
    const back: Rewrite = { changed: true, file: plan.file, keepsConfig: true, first: old };
    await effects.delivery.write(back, file, effects.config.kubeletDirectory);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether the system forbids the write: chattr +i, a read-only file system, a mount in place of the
 * file or above it, SELinux.
 */
function isForbidden(error: unknown): boolean {
  return ["EBUSY", "EPERM", "EROFS", "EACCES", "EXDEV"].some((code) => hasCode(error, code));
}

async function restart(
  step: Extract<Step, { action: "restart" }>,
  effects: Effects,
): Promise<string> {
  const { unit } = step.journal;
  if (unit === undefined) throw new Error("a restart is due, but the unit is unknown");
  if (step.resetFirst) await resetFailed(unit, effects.systemd);
  let unrecorded: unknown;
  const asked = await effects.systemd.restart(unit, async () => {
    try {
      await keep(step.journal, effects);
    } catch (error) {
      if (!step.evenUnrecorded) throw error;
      unrecorded = error;
    }
  });
  // systemd did not accept the request. The attempt does not count.
  if ("refused" in asked) {
    const { refused } = asked;
    const isNo = refused instanceof SystemdError && isDefinite(refused);
    if (unrecorded === undefined)
      await keep(isNo ? denied(step.unasked, refused.type) : step.unasked, effects);
    throw isNo ? new RestartRefused(refused.message) : refused;
  }
  effects.history.restarted();
  if (unrecorded !== undefined) await keep(step.journal, effects);
  return `job ${asked.result}`;
}

async function revive(unit: string, { systemd, history }: Effects): Promise<string> {
  await resetFailed(unit, systemd);
  const asked = await systemd.restart(unit, () => Promise.resolve());
  if ("refused" in asked) throw asked.refused;
  history.restarted();
  return `job ${asked.result}`;
}

/**
 * systemd unloads a stopped unit that nothing refers to, such as a disabled unit, and then has no
 * counters to reset. The restart request itself shows whether the unit exists and whether we are
 * allowed to restart it.
 */
async function resetFailed(unit: string, systemd: Systemd): Promise<void> {
  try {
    await systemd.resetFailed(unit);
  } catch (error) {
    if (!(error instanceof SystemdError && isDefinite(error))) throw error;
  }
}

/** A warning about the replaced file, if other users could read it. */
function warning({ plan: { fileMode }, file: { now } }: ToApply): string | undefined {
  if ("absent" in now || fileMode?.was !== now.mode) return undefined;
  return formatLine(codes.readableByOthers, `mode ${now.mode.toString(8)}`);
}

/** Whether the change writes a file. If it only removes files, the next write needs no pause. */
function writes({ file, keepsConfig, first, last }: Rewrite): boolean {
  return first !== undefined || last !== undefined || !(keepsConfig || "absent" in file);
}

async function write(
  rewrite: Rewrite,
  file: Pick<FoundFile, "identity">,
  effects: Effects,
): Promise<void> {
  try {
    await effects.delivery.write(rewrite, file, effects.config.kubeletDirectory);
    if (writes(rewrite)) effects.history.wrote();
    effects.history.unwritable = false;
  } catch (error) {
    // Another program is writing. Give it time. Other failures have their own back-off.
    if (error instanceof FileChanged) effects.history.wrote();
    else effects.history.unwritable = true;
    throw error;
  }
}

async function keep(journal: Journal, effects: Effects): Promise<void> {
  try {
    await saveJournal(under(effects, nodeFiles.folder), journal);
    effects.history.unwritable = false;
  } catch (error) {
    effects.history.unwritable = true;
    throw error;
  }
}

function under({ config }: Effects, name: string): string {
  return join(config.kubeletDirectory, name);
}

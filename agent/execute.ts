/** Executes a step: the journal first, then one action, which may be cut off at any instant. */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import type { Config } from "./config/config.ts";
import { makeFolder, removeFolder } from "./journal/folder.ts";
import type { Journal } from "./journal/journal.ts";
import type { Delivery, FoundFile, Rewrite } from "./delivery/delivery.ts";
import type { Lock } from "./report/lock.ts";
import { denied } from "./restart/restart.ts";
import { codes, say } from "./facts/problems.ts";
import { describe, hasCode } from "./files/errno.ts";
import { FileChanged } from "./files/atomic-write.ts";
import type { Deeds } from "./observe/stopwatch.ts";
import type { Step } from "./facts/step.ts";
import { keepJournal, putJournalBack, setAside } from "./journal/store.ts";
import { SystemdError, isAnswer, RestartRefused } from "./systemd/connection.ts";
import type { Systemd } from "./systemd/systemd.ts";

export type Hands = Readonly<{
  config: Config;
  systemd: Systemd;
  deeds: Deeds;
  delivery: Delivery;
  lock: Pick<Lock, "giveUp">;
}>;

/**
 * Executes a step. Returns what is worth a log line besides the step itself. Throws what the file
 * system or systemd threw.
 */
export async function act(step: Step, hands: Hands): Promise<string | undefined> {
  switch (step.action) {
    case "wait":
    case "nothing":
    case "end":
      return undefined;
    case "apply":
      await apply(step, hands);
      return warning(step);
    case "restore":
      await write(step.plan, step.found, hands);
      return undefined;
    case "clean":
      await clean(step, hands);
      return undefined;
    case "restart":
      return await restart(step, hands);
    case "revive":
      return await revive(step.unit, hands);
    case "record":
    case "give up":
      await keep(step.journal, hands);
      return undefined;
    case "set aside":
      setAside(under(hands, nodeFiles.folder));
      return undefined;
    case "leave":
      await leave(hands);
      return undefined;
  }
}

type ToClean = Extract<Step, { action: "clean" }>;
type ToApply = Extract<Step, { action: "apply" }>;

async function apply(step: ToApply, hands: Hands): Promise<void> {
  try {
    await keep(step.journal, hands);
    await write(step.plan, step.found, hands);
  } catch (error) {
    const { former, plan } = step;
    // What lies beside config.json goes first, and would be touched already.
    if (former !== undefined && plan.first === undefined && isForbidden(error)) {
      await putJournalBack(under(hands, nodeFiles.folder), former.journal);
      hands.deeds.unwritable = false;
      hands.deeds.bar(describe(error));
    }
    throw error;
  }
}

/** In one action: ended between two, the agent would leave its folder behind. */
async function clean({ plan, found }: ToClean, hands: Hands): Promise<void> {
  try {
    // The new file is staged there.
    await makeFolder(under(hands, nodeFiles.folder));
    await write(plan, found, hands);
    hands.deeds.cleaned();
  } finally {
    await leave(hands);
  }
}

async function leave(hands: Hands): Promise<void> {
  await removeFolder(under(hands, nodeFiles.folder), () => hands.lock.giveUp());
}

/** chattr +i, a file system that is read-only, a mount in the file's place, SELinux. */
function isForbidden(error: unknown): boolean {
  return ["EBUSY", "EPERM", "EROFS", "EACCES"].some((code) => hasCode(error, code));
}

async function restart(step: Extract<Step, { action: "restart" }>, hands: Hands): Promise<string> {
  const { unit } = step.journal;
  if (unit === undefined) throw new Error("a restart is owed, and not known by which unit");
  if (step.resetFirst) await resetFailed(unit, hands.systemd);
  let unrecorded: unknown;
  const asked = await hands.systemd.restart(unit, async () => {
    try {
      await keep(step.journal, hands);
    } catch (error) {
      if (!step.evenUnrecorded) throw error;
      unrecorded = error;
    }
  });
  // systemd did not take the request: the attempt does not count.
  if ("refused" in asked) {
    const { refused } = asked;
    const isNo = refused instanceof SystemdError && isAnswer(refused);
    if (unrecorded === undefined)
      await keep(isNo ? denied(step.unasked, refused.type) : step.unasked, hands);
    throw isNo ? new RestartRefused(refused.message) : refused;
  }
  hands.deeds.restarted();
  if (unrecorded !== undefined) await keep(step.journal, hands);
  return `job ${asked.result}`;
}

async function revive(unit: string, { systemd, deeds }: Hands): Promise<string> {
  await resetFailed(unit, systemd);
  const asked = await systemd.restart(unit, () => Promise.resolve());
  if ("refused" in asked) throw asked.refused;
  deeds.restarted();
  return `job ${asked.result}`;
}

/**
 * systemd unloads a stopped unit that nothing refers to, such as one that is not enabled, and
 * counts nothing for it. Whether there is such a unit at all, and whether we may restart it, the
 * request tells.
 */
async function resetFailed(unit: string, systemd: Systemd): Promise<void> {
  try {
    await systemd.resetFailed(unit);
  } catch (error) {
    if (!(error instanceof SystemdError && isAnswer(error))) throw error;
  }
}

/** A warning about the file that was replaced, if its mode deserved one. */
function warning({ plan: { left }, found: { now } }: ToApply): string | undefined {
  if ("absent" in now || left?.was !== now.mode) return undefined;
  return say(codes.readableByOthers, `mode ${now.mode.toString(8)}`);
}

/** Whether anything is put in place: what only takes away provokes nobody. */
function writes({ file, kept, first, last }: Rewrite): boolean {
  return first !== undefined || last !== undefined || !(kept || "absent" in file);
}

async function write(rewrite: Rewrite, found: FoundFile, hands: Hands): Promise<void> {
  try {
    await hands.delivery.write(rewrite, found, hands.config.kubeletDirectory);
    if (writes(rewrite)) hands.deeds.wrote();
    hands.deeds.unwritable = false;
  } catch (error) {
    // Another writer is at work, and is given time. Other failures have their own back-off.
    if (error instanceof FileChanged) hands.deeds.wrote();
    else hands.deeds.unwritable = true;
    throw error;
  }
}

async function keep(journal: Journal, hands: Hands): Promise<void> {
  try {
    await keepJournal(under(hands, nodeFiles.folder), journal);
    hands.deeds.unwritable = false;
  } catch (error) {
    hands.deeds.unwritable = true;
    throw error;
  }
}

function under({ config }: Hands, name: string): string {
  return join(config.kubeletDirectory, name);
}

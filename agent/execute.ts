/** Executes a step. The agent can be killed at any instant, between any two effects. */
import { join } from "node:path";
import { nodeFiles } from "#contract/names.ts";
import type { Config } from "./facts/config.ts";
import { writeAnswer } from "./delivery/provider/provider.ts";
import { writeHosts } from "./delivery/runtime/directory.ts";
import type { HostsChange } from "./delivery/runtime/plan.ts";
import { removeFolder, makeFolder } from "./journal/folder.ts";
import type { Journal } from "./journal/journal.ts";
import type { Lock } from "./report/lock.ts";
import { type Answered, codes, type Step } from "./facts/step.ts";
import { describe } from "./files/errno.ts";
import { FileChanged } from "./files/atomic-write.ts";
import type { History } from "./observe/stopwatch.ts";
import { commit, saveJournal, setAside } from "./journal/store.ts";
import { SystemdError, isDefinite, RestartRefused } from "./systemd/connection.ts";
import type { Systemd } from "./systemd/systemd.ts";

export type Effects = Readonly<{
  config: Pick<Config, "kubeletDirectory" | "hostsDirectory">;
  systemd: Pick<Systemd, "restart" | "resetFailed">;
  history: History;
  lock: Pick<Lock, "release">;
  /** Receives a journal that could not be saved. The next round saves it. */
  unsaved: (journal: Journal) => void;
}>;

/**
 * Executes the step. Returns text to log in addition to the step, if any. Throws errors of the file
 * system and of systemd.
 */
export async function act(step: Step, effects: Effects): Promise<string | undefined> {
  const { config, history, lock } = effects;
  const folder = join(config.kubeletDirectory, nodeFiles.folder);
  switch (step.action) {
    case "wait":
    case "nothing":
      return undefined;
    case "commit":
      if (step.answer !== undefined) await answer(step.answer, effects);
      if (step.hosts !== undefined) await hosts(step.hosts, effects);
      await counted(history, () =>
        commit(join(config.kubeletDirectory, nodeFiles.config), folder, step.commit),
      );
      if (step.code === codes.toBeWritten) history.startOver();
      history.wrote();
      return undefined;
    case "answer":
      await answer(step.answer, effects);
      return undefined;
    case "hosts":
      await hosts(step.hosts, effects);
      if (!step.hosts.some(({ isRemoval }) => isRemoval)) history.wrote();
      return undefined;
    case "restart":
      return await restart(step, folder, effects);
    case "record":
      await counted(history, () => saveJournal(folder, step.journal, step.former));
      if (step.code === codes.toBeWritten) history.startOver();
      // Another program writes. It might write again and again.
      if (step.code === codes.learned) history.wrote();
      return undefined;
    case "set aside":
      await counted(history, async () => setAside(folder));
      return undefined;
    case "leave":
      await counted(history, () => removeFolder(folder, () => lock.release()));
      return undefined;
  }
}

/** Records whether a write succeeded, so that a failing one is not tried again at once. */
export async function counted<T>(history: History, write: () => Promise<T>): Promise<T> {
  try {
    const result = await write();
    history.succeeded();
    return result;
  } catch (error) {
    // Another program is writing. Give it time.
    if (error instanceof FileChanged) history.wrote();
    else history.failed(describe(error));
    throw error;
  }
}

async function answer({ bytes, expected }: Answered, effects: Effects): Promise<void> {
  const { kubeletDirectory } = effects.config;
  await counted(effects.history, async () => {
    // The answer is staged in our folder.
    await makeFolder(join(kubeletDirectory, nodeFiles.folder));
    await writeAnswer(kubeletDirectory, bytes, expected);
  });
}

async function hosts(changes: readonly HostsChange[], effects: Effects): Promise<void> {
  await counted(effects.history, () => writeHosts(effects.config.hostsDirectory, changes));
}

async function restart(
  { unit, journal, former, resetFirst, refused }: Extract<Step, { action: "restart" }>,
  folder: string,
  { systemd, history, unsaved }: Effects,
): Promise<string> {
  const save = async (next: Journal, before: Journal) => {
    try {
      await counted(history, () => saveJournal(folder, next, before));
    } catch {
      unsaved(next);
    }
  };
  if (resetFirst) await resetFailed(unit, systemd);
  const asked = await systemd.restart(unit, () => save(journal, former));
  if (!("refused" in asked)) return `job ${asked.result}`;
  const isNo = asked.refused instanceof SystemdError && isDefinite(asked.refused);
  // The living process is still the one that has not read the file.
  if (refused !== undefined) await save(isNo ? refused : former, journal);
  throw isNo ? new RestartRefused(asked.refused.message) : asked.refused;
}

/**
 * systemd unloads a stopped unit that nothing refers to, such as a disabled unit, and then has no
 * counters to reset. The restart request itself shows whether the unit exists and whether we are
 * allowed to restart it.
 */
async function resetFailed(unit: string, systemd: Effects["systemd"]): Promise<void> {
  try {
    await systemd.resetFailed(unit);
  } catch (error) {
    if (!(error instanceof SystemdError && isDefinite(error))) throw error;
  }
}

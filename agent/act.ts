/** Does what was decided, one action at a time, the journal first. Every action may be cut off at any instant. */
import { renameSync } from "node:fs";
import { join } from "node:path";
import { nodeFiles } from "../pullsecret/names.ts";
import type { Config } from "./config.ts";
import { type Journal, writeJournal } from "./journal.ts";
import { corruptJournal } from "./look.ts";
import type { Found, Plan } from "./plan.ts";
import { FileChanged, makeFolder, remove, removeFolder, replace } from "./replace.ts";
import type { Deeds } from "./steady.ts";
import type { Step } from "./step.ts";
import type { Systemd } from "./systemd.ts";

export type Hands = Readonly<{ config: Config; systemd: Systemd; deeds: Deeds }>;

/** Answers what is worth a line in the log besides the step itself. Throws what the file system or the bus threw. */
export async function act(step: Step, hands: Hands): Promise<string | undefined> {
  switch (step.action) {
    case "wait":
    case "nothing":
      return undefined;
    case "apply":
    case "restore":
      await keep(step.journal, hands);
      await write(step.plan, step.found, hands);
      return undefined;
    case "restart":
      return await restart(step, hands);
    case "record":
    case "give up":
      await keep(step.journal, hands);
      return undefined;
    case "set aside":
      renameSync(under(hands, nodeFiles.journal), under(hands, corruptJournal));
      return undefined;
    case "leave":
      await removeFolder(under(hands, nodeFiles.folder), journalName);
      return undefined;
  }
}

const journalName = nodeFiles.journal.slice(nodeFiles.folder.length + 1);

async function restart(step: Extract<Step, { action: "restart" }>, hands: Hands): Promise<string> {
  if (step.resetFirst) await hands.systemd.resetFailed();
  const asked = await hands.systemd.restart(() => keep(step.journal, hands));
  // Not asked: as if this attempt had never been.
  if ("refused" in asked) {
    await keep(step.unasked, hands);
    throw asked.refused;
  }
  hands.deeds.restarts += 1;
  return `job ${asked.result}`;
}

async function write({ file }: Plan, found: Found, hands: Hands): Promise<void> {
  const target = under(hands, nodeFiles.config);
  const folder = under(hands, nodeFiles.folder);
  const expected = found.identity;
  try {
    if ("absent" in file) return await remove(target, expected);
    await replace({ target, folder, bytes: file.bytes, mode: file.mode, owner: file, expected });
    hands.deeds.wrote();
  } catch (error) {
    // Another writer is at work: it is given time. What failed for other reasons has its own back-off.
    if (error instanceof FileChanged) hands.deeds.wrote();
    throw error;
  }
}

async function keep(journal: Journal, hands: Hands): Promise<void> {
  const folder = under(hands, nodeFiles.folder);
  await makeFolder(folder, journalName);
  await replace({ target: under(hands, nodeFiles.journal), folder, bytes: writeJournal(journal), mode: 0o600 });
}

function under({ config }: Hands, name: string): string {
  return join(config.kubeletDirectory, name);
}

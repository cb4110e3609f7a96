/** The commands of `kubectl pull-secret`, in the order of the usage. */
import { add } from "./commands/add.ts";
import { check } from "./commands/check.ts";
import { diff } from "./commands/diff.ts";
import { explain } from "./commands/explain.ts";
import { merge } from "./commands/merge.ts";
import { nodes } from "./commands/nodes.ts";
import { remove } from "./commands/remove.ts";
import { status } from "./commands/status.ts";
import { pause, resume, retry, withdraw } from "./commands/steering.ts";
import { wait } from "./commands/wait.ts";
import type { Command } from "./terminal/command.ts";

export const commands: Readonly<Record<string, Command>> = {
  status,
  nodes,
  wait,
  diff,
  add,
  remove,
  pause,
  resume,
  withdraw,
  retry,
  merge,
  check,
  explain,
};

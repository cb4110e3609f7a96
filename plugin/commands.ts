/** Every command of `kubectl pull-secret`, in the order of the usage. */
import { add } from "./commands/add.ts";
import { apply } from "./commands/apply.ts";
import { check } from "./commands/check.ts";
import { status as fleetStatus } from "./commands/fleet/status.ts";
import { explain } from "./commands/explain.ts";
import { apply as fleetApply } from "./commands/fleet/apply.ts";
import { deleteManifests } from "./commands/fleet/delete.ts";
import { join } from "./commands/fleet/join.ts";
import { list } from "./commands/fleet/list.ts";
import { release } from "./commands/fleet/release.ts";
import { remove as removeCluster } from "./commands/fleet/remove.ts";
import { completion } from "./commands/completion.ts";
import { rbac } from "./commands/fleet/rbac.ts";
import { history, undo } from "./commands/history.ts";
import { merge } from "./commands/merge.ts";
import { seal } from "./commands/seal.ts";
import { version } from "./commands/version.ts";
import { tenant } from "./commands/fleet/tenant.ts";
import { nodes } from "./commands/nodes.ts";
import { remove } from "./commands/remove.ts";
import { preflight } from "./commands/preflight.ts";
import { status } from "./commands/status.ts";
import { pause, resume, retry, withdraw } from "./commands/steering.ts";
import { uninstall } from "./commands/uninstall.ts";
import { wait } from "./commands/wait.ts";
import type { Command } from "./terminal/command.ts";

export const commands: Readonly<Record<string, Command>> = {
  preflight,
  status,
  nodes,
  wait,
  history,
  check,
  explain,
  apply,
  undo,
  add,
  remove,
  pause,
  resume,
  withdraw,
  retry,
  uninstall,
  "fleet status": fleetStatus,
  "fleet list": list,
  "fleet join": join,
  "fleet remove": removeCluster,
  "fleet apply": fleetApply,
  "fleet delete": deleteManifests,
  "fleet rbac": rbac,
  "fleet tenant": tenant,
  "fleet release": release,
  seal,
  merge,
  completion,
  version,
};

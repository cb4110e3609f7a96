/** Every command of `kubectl pull-secret`, in the order of the usage. */
import { add } from "./commands/change/add.ts";
import { check } from "./commands/see/check.ts";
import { fleet } from "./commands/see/fleet.ts";
import { explain } from "./commands/see/explain.ts";
import { apply } from "./commands/clusters/apply.ts";
import { deleteManifests } from "./commands/clusters/delete.ts";
import { join } from "./commands/clusters/join.ts";
import { list } from "./commands/clusters/list.ts";
import { remove as removeCluster } from "./commands/clusters/remove.ts";
import { completion } from "./commands/local/completion.ts";
import { fleetRbac } from "./commands/local/fleet-rbac.ts";
import { merge } from "./commands/local/merge.ts";
import { seal } from "./commands/clusters/seal.ts";
import { version } from "./commands/local/version.ts";
import { tenant } from "./commands/local/tenant.ts";
import { nodes } from "./commands/see/nodes.ts";
import { remove } from "./commands/change/remove.ts";
import { preflight } from "./commands/see/preflight.ts";
import { status } from "./commands/see/status.ts";
import { pause, resume, retry, withdraw } from "./commands/steer/steering.ts";
import { supportBundle } from "./commands/see/support-bundle.ts";
import { uninstall } from "./commands/steer/uninstall.ts";
import { wait } from "./commands/see/wait.ts";
import type { Command } from "./terminal/command.ts";

export const commands: Readonly<Record<string, Command>> = {
  preflight,
  status,
  nodes,
  wait,
  add,
  remove,
  pause,
  resume,
  withdraw,
  retry,
  uninstall,
  fleet,
  "fleet rbac": fleetRbac,
  "clusters list": list,
  "clusters join": join,
  "clusters remove": removeCluster,
  "clusters apply": apply,
  "clusters delete": deleteManifests,
  merge,
  check,
  explain,
  seal,
  tenant,
  "support-bundle": supportBundle,
  completion,
  version,
};

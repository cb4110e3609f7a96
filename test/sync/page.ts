/** docs/syncsecret.md, with both clusters of a rig. */
import { deskAt, pageOf, type Desk } from "../page.ts";
import type { Rig } from "./rig.ts";

export const { blocksBelow } = pageOf("syncsecret.md");

export const deskOf = ({ tenant, management, output }: Rig, folder: string): Desk =>
  deskAt(folder, {
    contexts: { management: management.cluster, tenant: tenant.cluster },
    logs: output,
  });

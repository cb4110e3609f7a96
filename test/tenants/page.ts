/** Follows docs/extend/tenants.md with both clusters of a rig. */
import { mkdtempSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { deskAt, pageOf, type Desk } from "../page.ts";
import type { Rig } from "./rig.ts";

export const { blocksBelow, yamlOf } = pageOf("extend/tenants.md");

/**
 * A new desk: a folder with the tenant's audit log, which is removed with the management cluster.
 */
export function deskFor({ tenant, management, output }: Rig): Desk {
  const folder = mkdtempSync(join(management.cluster.directory, "desk-"));
  symlinkSync(tenant.cluster.auditLog, join(folder, "audit.log"));
  return deskAt(folder, {
    contexts: { management: management.cluster, tenant: tenant.cluster },
    logs: output,
  });
}

/** The page's recipes (blocks of commands), by the problem that each recipe explains. */
export function recipes() {
  const [notThere = "", noSecret = "", notFollowing = "", whose = "", ...others] = blocksBelow(
    "## When something is wrong",
  ).map(({ body }) => body);
  if (others.length > 0 || whose === "") throw new Error("the page has other recipes than these");
  return { notThere, noSecret, notFollowing, whose };
}

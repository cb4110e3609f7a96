/** The two clusters that the tests of this folder share, and the programs that run between them. */
import { startManagementSide, startTenantSide, type Program } from "./programs.ts";
import { sealedOptions } from "./sealed.ts";
import * as sync from "./sync.ts";

export type Rig = Readonly<{
  management: sync.Management;
  tenant: sync.Tenant;
  /** Both programs run, once for all tests that need no others. */
  start: () => void;
  /** Ends them, as a crash would if asked. */
  stop: (how?: "killed") => Promise<void>;
  /** All that both wrote. */
  output: () => string;
  /** The tenant's account in the management cluster. */
  access: string;
  programs: readonly Program[];
}>;

export async function startRig(): Promise<Rig> {
  const [management, tenant] = await Promise.all([
    sync.startManagement(),
    sync.startTenant(sealedOptions()),
  ]);
  const access = await sync.tenantAccess(management);
  const programs: Program[] = [];
  let ended = "";
  return {
    management,
    tenant,
    access,
    programs,
    output: () => ended + programs.map((one) => one.output()).join(""),
    start() {
      if (programs.length > 0) return;
      programs.push(startManagementSide(management), startTenantSide(tenant, access));
    },
    async stop(how) {
      for (const one of programs.splice(0)) {
        await (how === "killed" ? one.kill() : one[Symbol.asyncDispose]());
        ended += one.output();
      }
      if (how !== "killed") return;
      // The Lease of a dead process: the next one would wait until it expires.
      for (const { cluster } of [management, tenant])
        await cluster.kubectl("delete", "leases", "--all", "-n", "kube-system");
    },
  };
}

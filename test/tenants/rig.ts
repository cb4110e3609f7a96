/** The two clusters that the tests of this folder share, and the programs that run between them. */
import { startManagementSide, startTenantSide, type Program } from "./programs.ts";
import { sealedOptions } from "./sealed.ts";
import * as sync from "./sync.ts";

export type Rig = Readonly<{
  management: sync.Management;
  tenant: sync.Tenant;
  /** Starts both programs, unless they run already. */
  start: () => void;
  /** Ends both programs in an orderly way. With `killed`, kills both as a crash would. */
  stop: (how?: "killed") => Promise<void>;
  output: () => string;
  /** File with the kubeconfig of the tenant's account in the management cluster. */
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
    output: () => ended + programs.map((program) => program.output()).join(""),
    start() {
      if (programs.length > 0) return;
      programs.push(startManagementSide(management), startTenantSide(tenant, access));
    },
    async stop(how) {
      for (const program of programs.splice(0)) {
        await (how === "killed" ? program.kill() : program[Symbol.asyncDispose]());
        ended += program.output();
      }
      if (how !== "killed") return;
      // Deletes the Leases, because the next processes would otherwise wait until the killed
      // processes' Leases expire.
      for (const { cluster } of [management, tenant])
        await cluster.kubectl("delete", "leases", "--all", "-n", "kube-system");
    },
  };
}

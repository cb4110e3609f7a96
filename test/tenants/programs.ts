/** The bundles of both programs, each as a process with only its account's rights. */
import { join } from "node:path";
import { until } from "../cluster/await.ts";
import { portOf, startProgram } from "../cluster/program.ts";
import { run } from "../cluster/run.ts";
import type { Management, Tenant } from "./sync.ts";

const dist = join(import.meta.dirname, "../../dist");

function start(argv: readonly string[]) {
  const program = startProgram(argv);
  return {
    ...program,
    port: () => portOf(program),
    runs: () => program.exited() === undefined,
    [Symbol.asyncDispose]: async () => void (await program.stop()),
  };
}

export type Program = ReturnType<typeof start>;

const managementSide = ({ kubeconfig }: Management): readonly string[] => [
  process.execPath,
  join(dist, "sync-management.cjs"),
  `--kubeconfig=${kubeconfig}`,
];

const tenantSide = ({ kubeconfig }: Tenant, access: string): readonly string[] => [
  process.execPath,
  join(dist, "sync-tenant.cjs"),
  "--management-namespace=tenant-a",
  `--kubeconfig=${kubeconfig}`,
  `--management-kubeconfig=${access}`,
];

const anyPort = "--listen=127.0.0.1:0";

export const startManagementSide = (management: Management): Program =>
  start([...managementSide(management), anyPort]);

export const startTenantSide = (tenant: Tenant, access: string): Program =>
  start([...tenantSide(tenant, access), anyPort]);

type Both = Readonly<{ management: Management; tenant: Tenant; access: string }>;

/**
 * Starts the program with its default port, and returns its answer to `url`. The program runs in a
 * separate network, because another program might use that port. Therefore the program reaches no
 * API server.
 */
export async function askedAt(
  url: string,
  side: "management" | "tenant",
  { management, tenant, access }: Both,
): Promise<string> {
  const argv = side === "management" ? managementSide(management) : tenantSide(tenant, access);
  const within = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "bash"];
  await using program = start([...within, ...argv]);
  await until("the program is started", () => program.output().includes('"started"'), {
    seen: program.output,
  });
  const script = `fetch(${JSON.stringify(url)}).then((answer) => answer.text())
    .then((text) => process.stdout.write(text))`;
  const inside = ["nsenter", `--net=/proc/${program.pid}/ns/net`, process.execPath, "-e", script];
  return await run(inside);
}

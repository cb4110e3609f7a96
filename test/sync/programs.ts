/** Both programs as they ship, each a process with its account's rights and no other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { until } from "../cluster/await.ts";
import { directEnvironment, run } from "../cluster/run.ts";
import type { Management, Tenant } from "./sync.ts";

const dist = join(import.meta.dirname, "../../dist");

function start([program = "", ...args]: readonly string[]) {
  const child = spawn(program, args, {
    env: directEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  return {
    output: () => output,
    pid: child.pid ?? 0,
    runs: () => child.exitCode === null && child.signalCode === null,
    /** Of /metrics and its siblings. */
    port: () =>
      until("its port is told", () => Number(/"port":(\d+)/.exec(output)?.[1]) || undefined),
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: () => end("SIGTERM"),
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
 * What a path of the program's port answers where no flag names the port. The program is in a
 * network of its own, because another one of this machine may have that port; so it reaches no API
 * server.
 */
export async function askedAt(
  url: string,
  side: "management" | "tenant",
  { management, tenant, access }: Both,
): Promise<string> {
  const argv = side === "management" ? managementSide(management) : tenantSide(tenant, access);
  const within = ["unshare", "--net", "bash", "-c", 'ip link set lo up && exec "$@"', "bash"];
  await using program = start([...within, ...argv]);
  await until("it is started", () => program.output().includes('"started"'), {
    seen: program.output,
  });
  const script = `fetch(${JSON.stringify(url)}).then((answer) => answer.text())
    .then((text) => process.stdout.write(text))`;
  const inside = ["nsenter", `--net=/proc/${program.pid}/ns/net`, process.execPath, "-e", script];
  return await run(inside);
}

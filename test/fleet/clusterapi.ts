/** Cluster API's definitions, and its own manager, from its Go module. */
import { spawn } from "node:child_process";
import { once as event } from "node:events";
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { makeAuthority } from "../cluster/certificates.ts";
import { directEnvironment, progress, run } from "../cluster/run.ts";
import { freePort } from "../free-port.ts";

const here = join(import.meta.dirname, "go");
const modulePath = "sigs.k8s.io/cluster-api";

/** Its manager as a program: seven minutes for the first, once per version of the pins. */
async function buildManager(): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
  return await once(join(cacheRoot, "cluster-api", keyOf(...pins), "manager"), async (draft) => {
    progress("building Cluster API's manager (seven minutes for the first)");
    mkdirSync(dirname(draft), { recursive: true });
    await run(["go", "build", "-buildvcs=false", "-o", draft, modulePath], { cwd: here });
  });
}

/** Its sources, which are downloaded where no build has done so: `go list` would not. */
async function moduleFolder(): Promise<string> {
  const told = await run(["go", "mod", "download", "-json", modulePath], { cwd: here });
  return (JSON.parse(told) as { Dir: string }).Dir;
}

/** Every definition of it, for its own manager. */
export async function installAll(cluster: Cluster): Promise<void> {
  const files = globSync(join(await moduleFolder(), "config/crd/bases/*.yaml"));
  await installDefinitions(cluster, ...files.map((file) => basename(file, ".yaml")));
}

/** Its manager beside the cluster, as its administrator, without the webhooks' configuration. */
export async function startManager(cluster: Cluster) {
  const program = await buildManager();
  const folder = join(cluster.directory, "webhooks");
  mkdirSync(folder, { recursive: true });
  const authority = await makeAuthority(folder);
  await authority.sign("tls", "/CN=webhooks", ["127.0.0.1"]);
  const [webhooks, diagnostics, health] = [await freePort(), await freePort(), await freePort()];
  const child = spawn(
    program,
    [
      `--kubeconfig=${cluster.kubeconfig}`,
      `--webhook-cert-dir=${folder}`,
      `--webhook-port=${webhooks}`,
      `--diagnostics-address=127.0.0.1:${diagnostics}`,
      "--insecure-diagnostics",
      `--health-addr=127.0.0.1:${health}`,
      "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
    ],
    { env: directEnvironment({ POD_NAMESPACE: "default" }), stdio: ["ignore", "pipe", "pipe"] },
  );
  let told = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (told = (told + chunk.toString()).slice(-20_000)));
  return {
    output: () => told,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = event(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Defines what a fleet meets of it, in both versions, without the webhook that converts them. */
export async function installDefinitions(
  cluster: Cluster,
  ...names: readonly string[]
): Promise<void> {
  const folder = await moduleFolder();
  for (const name of names) {
    const file = join(folder, "config/crd/bases", `${name}.yaml`);
    await cluster.kubectl("apply", "--server-side", "-f", file);
    const [group, plural] = name.split("_");
    const crd = `crd/${plural}.${group}`;
    const path = 'jsonpath={.status.conditions[?(@.type=="Established")].status}';
    const established = async () => await cluster.kubectl("get", crd, "-o", path);
    // kubectl wait fails where there are no conditions yet.
    await until(`${crd} is served`, async () => (await established()) === "True");
  }
}

/** The real Sealed Secrets: its controller beside a control plane, and its kubeseal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../cluster/await.ts";
import { cacheRoot, keyOf, once as made } from "../cluster/cache.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { directEnvironment, progress, run } from "../cluster/run.ts";
import { freePort } from "../free-port.ts";

const here = join(import.meta.dirname, "go");
const modulePath = "github.com/bitnami-labs/sealed-secrets";

/** Builds a program of it, a minute for the first, once per version of the pins. */
export async function build(program: "controller" | "kubeseal"): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
  return await made(join(cacheRoot, "sealed-secrets", keyOf(...pins), program), async (draft) => {
    progress(`building Sealed Secrets' ${program} (a minute for the first)`);
    mkdirSync(dirname(draft), { recursive: true });
    const argv = ["go", "build", "-buildvcs=false", "-o", draft, `${modulePath}/cmd/${program}`];
    await run(argv, { cwd: here });
  });
}

/** Where the controller and its keys live. */
export const home = "test";

/** Defines SealedSecret and gives the controller the rights of an administrator. */
export async function install(cluster: Cluster): Promise<void> {
  const folder = (
    await run(["go", "list", "-m", "-f", "{{.Dir}}", modulePath], { cwd: here })
  ).trim();
  const crd = join(folder, "helm/sealed-secrets/crds/bitnami.com_sealedsecrets.yaml");
  await cluster.kubectl("apply", "-f", crd);
  await cluster.kubectl("create", "namespace", home);
  await cluster.kubectl("create", "serviceaccount", "sealed-secrets", "-n", home);
  const subject = `--serviceaccount=${home}:sealed-secrets`;
  await cluster.kubectl(
    "create",
    "clusterrolebinding",
    "sealed",
    "--clusterrole=cluster-admin",
    subject,
  );
}

export type SealedSecrets = Readonly<{ certificate: string }> & AsyncDisposable;

/**
 * Starts the controller as a process; resolves with the certificate that it gives out. It only runs
 * as in a pod, so it sees a folder of its own where a pod's token lies.
 */
export async function startSealedSecrets(cluster: Cluster): Promise<SealedSecrets> {
  const program = await build("controller");
  const asks = ["create", "token", "sealed-secrets", "-n", home, "--duration=2h"];
  const folder = join(cluster.directory, "sealed-secrets");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "token"), (await cluster.kubectl(...asks)).trim(), { mode: 0o600 });
  writeFileSync(join(folder, "ca.crt"), readFileSync(cluster.ca));
  const [port, metrics] = [await freePort(), await freePort()];
  const place = "/run/secrets/kubernetes.io/serviceaccount";
  const script =
    `mount -t tmpfs sealed /run && mkdir -p ${place} && mount --bind ${folder} ${place} && ` +
    `exec ${program} --listen-addr 127.0.0.1:${port} --listen-metrics-addr 127.0.0.1:${metrics}`;
  const { hostname, port: serverPort } = new URL(cluster.server);
  const child = spawn("unshare", ["--mount", "sh", "-c", script], {
    env: directEnvironment({
      POD_NAMESPACE: home,
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: serverPort === "" ? "443" : serverPort,
    }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let told = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (told += chunk.toString()));
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  const certificate = await until(
    "Sealed Secrets gives out its certificate",
    async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/cert.pem`);
      return answer.ok && (await answer.text());
    },
    { seen: () => told },
  );
  return { certificate, [Symbol.asyncDispose]: stop };
}

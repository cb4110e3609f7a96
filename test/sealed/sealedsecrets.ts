/** The real Sealed Secrets: its controller as a process or a pod, and its kubeseal. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../cluster/await.ts";
import { cacheRoot, keyOf, once as made } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { writeLayout } from "../cluster/kit/images.ts";
import { publicRegistry } from "../cluster/registry.ts";
import { startProgram } from "../cluster/program.ts";
import { progress, run } from "../cluster/run.ts";
import { freePort } from "../free-port.ts";

const here = join(import.meta.dirname, "go");
const modulePath = "github.com/bitnami-labs/sealed-secrets";

/**
 * Builds a program of Sealed Secrets once for each content of go.mod and go.sum. The first build
 * takes a minute. The program needs no library, therefore an image can contain only the program.
 */
export async function build(program: "controller" | "kubeseal"): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
  const folder = join(cacheRoot, "sealed-secrets", keyOf(...pins, "quick"));
  return await made(join(folder, program), async (draft) => {
    progress(`building Sealed Secrets' ${program} (a minute for the first)`);
    await goBuild(here, draft, `${modulePath}/cmd/${program}`);
  });
}

/** Pushes an image of the controller to a cluster's registry. Returns the reference for pods. */
export async function pushController({ registry }: Cluster): Promise<string> {
  const program = await build("controller");
  const layout = await made(`${program}-image`, async (draft) => {
    const tree = `${draft}-tree`;
    mkdirSync(tree, { recursive: true });
    cpSync(program, join(tree, "controller"));
    await writeLayout(draft, tree, { Entrypoint: ["/controller"] });
  });
  return await registry.push(layout, "sealed-secrets-controller:0.36.0", publicRegistry);
}

/** The namespace of the controller and its keys. */
export const home = "test";
const its = { namespace: home };
const name = "sealed-secrets";
const service = "sealed-secrets-controller";

/**
 * The CRD of Sealed Secrets from its Go module, and the other objects of its chart, as YAML. The
 * controller gets administrator rights. With `image`, from pushController, the Service leads to the
 * controller's pod. Without `image`, for a cluster without nodes, startSealedSecrets lets the
 * Service lead to a process.
 */
export async function manifestsOf(image?: string): Promise<string> {
  const output = await run(["go", "mod", "download", "-json", modulePath], { cwd: here });
  const { Dir } = JSON.parse(output) as { Dir: string };
  const crd = join(Dir, "helm/sealed-secrets/crds/bitnami.com_sealedsecrets.yaml");
  const account = { kind: "ServiceAccount", name, ...its };
  const labels = { app: name };
  const objects = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: home } },
    { apiVersion: "v1", kind: account.kind, metadata: { name, ...its } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "sealed" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [account],
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, ...its },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            containers: [
              {
                name,
                image: image ?? "registry.example/sealed-secrets-controller:0.36.0",
                readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 1 },
              },
            ],
          },
        },
      },
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: service, ...its },
      spec: {
        ...(image === undefined ? {} : { selector: labels }),
        ports: [{ name: "http", port: 8080 }],
      },
    },
  ];
  return [readFileSync(crd, "utf8"), ...objects.map((object) => JSON.stringify(object))].join(
    "\n---\n",
  );
}

/** Installs the objects of manifestsOf without an image. */
export async function install(cluster: Cluster): Promise<void> {
  const file = join(cluster.directory, "sealed-secrets.yaml");
  writeFileSync(file, await manifestsOf());
  await cluster.kubectl("apply", "-f", file);
  await cluster.untilServed("sealedsecrets.bitnami.com");
}

type SealedSecret = Readonly<{
  metadata: Readonly<{ generation?: number }>;
  status?: Readonly<{
    observedGeneration?: number;
    conditions?: readonly Readonly<{ type: string; status: string }>[];
  }>;
}>;

/**
 * True if the controller has opened the SealedSecret, False if it could not; undefined until the
 * controller has processed the last applied version.
 */
export async function synced(
  cluster: Cluster,
  secret: string,
  namespace: string,
): Promise<string | undefined> {
  const sealedSecret = await cluster.get<SealedSecret>("sealedsecret", secret, "-n", namespace);
  const { observedGeneration, conditions } = sealedSecret?.status ?? {};
  return observedGeneration === sealedSecret?.metadata.generation
    ? conditions?.find(({ type }) => type === "Synced")?.status
    : undefined;
}

export type SealedSecrets = Readonly<{ certificate: string }> & AsyncDisposable;

/**
 * Starts the controller as a process, with these additional flags. Resolves with its certificate.
 * The controller expects to run in a pod, therefore this function mounts a folder with a token
 * where pods have it.
 */
export async function startSealedSecrets(
  cluster: Cluster,
  ...flags: readonly string[]
): Promise<SealedSecrets> {
  const program = await build("controller");
  const asks = ["create", "token", name, "-n", home, "--duration=2h"];
  const folder = join(cluster.directory, "sealed-secrets");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "token"), (await cluster.kubectl(...asks)).trim(), { mode: 0o600 });
  writeFileSync(join(folder, "ca.crt"), readFileSync(cluster.ca));
  const { hostname, port: serverPort } = new URL(cluster.server);
  // Uses the machine's own address in the cluster's network, because the API server does not proxy
  // to a loopback address.
  const ip = hostname.replace(/\.0\.1$/, ".254.1");
  const [port, metrics] = [await freePort(), await freePort()];
  const place = "/run/secrets/kubernetes.io/serviceaccount";
  const script =
    `mount -t tmpfs sealed /run && mkdir -p ${place} && mount --bind ${folder} ${place} && ` +
    `exec ${program} --listen-addr ${ip}:${port} --listen-metrics-addr 127.0.0.1:${metrics} "$@"`;
  const running = startProgram(["unshare", "--mount", "sh", "-c", script, "sh", ...flags], {
    POD_NAMESPACE: home,
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: serverPort === "" ? "443" : serverPort,
  });
  const stop = async (): Promise<void> => void (await running.kill());
  const certificate = await until(
    "Sealed Secrets serves its certificate",
    async () => {
      const answer = await fetch(`http://${ip}:${port}/v1/cert.pem`);
      return answer.ok && (await answer.text());
    },
    { seen: running.output },
  );
  // A pod that never runs gets the address of the process, because the API server only proxies to
  // the address of a pod.
  const pod = "sealed-secrets-process";
  const containers = [{ name, image: "registry.example/none" }];
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: pod, ...its },
    spec: { containers },
  });
  const status = JSON.stringify({ status: { podIP: ip, podIPs: [{ ip }] } });
  const patch = ["--subresource=status", "--type=merge", "-p", status];
  await cluster.kubectl("patch", "pod", pod, "-n", home, ...patch);
  const targetRef = { kind: "Pod", name: pod, ...its };
  const subsets = [{ addresses: [{ ip, targetRef }], ports: [{ name: "http", port }] }];
  await cluster.apply({
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: service, ...its },
    subsets,
  });
  const proxy = `/api/v1/namespaces/${home}/services/http:${service}:http/proxy/v1/cert.pem`;
  await until(
    "the API server reaches the controller",
    async () => (await cluster.kubectl("get", "--raw", proxy)) === certificate,
  ).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { certificate, [Symbol.asyncDispose]: stop };
}

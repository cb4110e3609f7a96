/** Cluster API's CRDs and manager, from Cluster API's Go module. */
import { globSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { makeAuthority } from "../cluster/host/certificates.ts";
import { startProgram } from "../cluster/program.ts";
import { progress, run } from "../cluster/run.ts";
import { dataKubeconfig } from "../controller/guest.ts";
import { freePort } from "../free-port.ts";
import { declareGuest, type Home } from "./fleet.ts";

const namespace = "kube-system";
const here = join(import.meta.dirname, "go");
const modulePath = "sigs.k8s.io/cluster-api";

/**
 * Builds Cluster API's manager once for each content of go.mod and go.sum. The first build takes
 * seven minutes.
 */
async function buildManager(): Promise<string> {
  const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));
  const place = join(cacheRoot, "cluster-api", keyOf(...pins, "quick"), "manager");
  return await once(place, async (draft) => {
    progress("building Cluster API's manager (seven minutes for the first)");
    await goBuild(here, draft, modulePath);
  });
}

/**
 * The directory with Cluster API's sources. Downloads the sources first if no build has done so,
 * because `go list` downloads nothing.
 */
async function moduleFolder(): Promise<string> {
  const output = await run(["go", "mod", "download", "-json", modulePath], { cwd: here });
  return (JSON.parse(output) as { Dir: string }).Dir;
}

/** Installs all CRDs of Cluster API, because Cluster API's manager needs them. */
export async function installAll(cluster: Cluster): Promise<void> {
  const files = globSync(join(await moduleFolder(), "config/crd/bases/*.yaml"));
  await installCrds(cluster, ...files.map((file) => basename(file, ".yaml")));
}

/**
 * Starts Cluster API's manager as the cluster's administrator, without the webhook configuration.
 */
export async function startManager(cluster: Cluster) {
  const program = await buildManager();
  const folder = join(cluster.directory, "webhooks");
  mkdirSync(folder, { recursive: true });
  const authority = await makeAuthority(folder);
  await authority.sign("tls", "/CN=webhooks", ["127.0.0.1"]);
  const [webhooks, diagnostics, health] = [await freePort(), await freePort(), await freePort()];
  const manager = startProgram(
    [
      program,
      `--kubeconfig=${cluster.kubeconfig}`,
      `--webhook-cert-dir=${folder}`,
      `--webhook-port=${webhooks}`,
      `--diagnostics-address=127.0.0.1:${diagnostics}`,
      "--insecure-diagnostics",
      `--health-addr=127.0.0.1:${health}`,
      "--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields",
    ],
    { POD_NAMESPACE: "default" },
  );
  return {
    output: () => manager.output().slice(-20_000),
    [Symbol.asyncDispose]: async () => void (await manager.kill()),
  };
}

type Declared = Readonly<{ home: Home; guest: Cluster; name: string; labels: object }>;

/**
 * Declares a provisioned workload cluster as Cluster API does, with an administrator's kubeconfig.
 * Writes the cluster's status itself, because no infrastructure provider creates machines.
 */
export async function declareCluster({ home, guest, name, labels }: Declared): Promise<void> {
  await guest.apply(
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "admin", namespace } },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "admin" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "cluster-admin",
      },
      subjects: [{ kind: "ServiceAccount", name: "admin", namespace }],
    },
  );
  const token = (await guest.kubectl("create", "token", "admin", "-n", namespace)).trim();
  await declareGuest(home, name, dataKubeconfig(guest, { token }), labels);
  const label = { "cluster.x-k8s.io/cluster-name": name };
  const its = ["secret", `${name}-kubeconfig`, "-n", name];
  await home.cluster.kubectl("label", ...its, `cluster.x-k8s.io/cluster-name=${name}`);
  const { hostname, port } = new URL(guest.server);
  await home.cluster.apply({
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    metadata: { name, namespace: name, labels: label },
    spec: { controlPlaneEndpoint: { host: hostname, port: Number(port || 443) } },
  });
  const lastTransitionTime = new Date().toISOString();
  const condition = { status: "True", reason: "Initialized", message: "", lastTransitionTime };
  const status = {
    initialization: { infrastructureProvisioned: true, controlPlaneInitialized: true },
    conditions: [{ type: "ControlPlaneInitialized", ...condition }],
  };
  const cluster = ["clusters.cluster.x-k8s.io", name, "-n", name];
  const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify({ status })];
  await home.cluster.kubectl("patch", ...cluster, ...patch);
}

/** Installs these CRDs of Cluster API, with all their versions, without the conversion webhook. */
export async function installCrds(cluster: Cluster, ...names: readonly string[]): Promise<void> {
  const folder = await moduleFolder();
  for (const name of names) {
    const file = join(folder, "config/crd/bases", `${name}.yaml`);
    await cluster.kubectl("apply", "--server-side", "-f", file);
    const [group, plural] = name.split("_");
    await cluster.untilServed(`${plural}.${group}`);
  }
}

/** A ClusterResourceSet as people write it by hand, in the previous API version. */
export const byHand = (where: string) => ({
  apiVersion: "addons.cluster.x-k8s.io/v1beta1",
  kind: "ClusterResourceSet",
  metadata: { name: "crs-pull-secret", namespace: where },
  spec: {
    clusterSelector: { matchLabels: { "cluster.x-k8s.io/cluster-name": where } },
    resources: [{ kind: "Secret", name: "crs-pull-secret" }],
    strategy: "Reconcile",
  },
});

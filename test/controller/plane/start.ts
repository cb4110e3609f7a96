/**
 * A control plane with manifests/ applied, and no controller: a real etcd, API server, DaemonSet
 * controller and scheduler.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { freshBundle } from "#tools/build/bundle.ts";
import { startCluster, type Cluster } from "#test/cluster/cluster.ts";
import { addedBy } from "#test/install/kustomize.ts";
import { applyManifests } from "#test/install/overlay.ts";
import { steer } from "../steer.ts";

export const agentImage = "example.invalid/global-pull-secret:test";

const name = "global-pull-secret-controller";
const its = ["-n", "kube-system"] as const;

export type Plane = Readonly<{ cluster: Cluster; api: Api; kubeconfig: string; token: string }> &
  AsyncDisposable;

type Rights = Pick<Plane, "kubeconfig" | "token">;

/**
 * Starts the control plane and applies manifests/ with its Deployment scaled to zero, because tests
 * start the controller themselves.
 */
export async function startPlane(): Promise<Plane> {
  return await planeOf((cluster) => installed(cluster));
}

/** `startPlane` for a hosted cluster, whose agents run this image. */
export async function startGuestPlane(image: string): Promise<Plane> {
  return await planeOf(async (cluster) => {
    await freshBundle();
    await applyManifests(cluster, image, "guest");
    return await rightsIn(cluster);
  });
}

async function planeOf(install: (cluster: Cluster) => Promise<Rights>): Promise<Plane> {
  const cluster = await startCluster({ nodes: 0 });
  const rights = await install(cluster);
  const admin = loadKubeConfig(cluster.kubeconfig);
  const plane = {
    cluster,
    ...rights,
    api: connect(admin, () => {}),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
  await steer(plane);
  return plane;
}

/**
 * Applies manifests/ with its Deployment scaled to zero. Returns a controller's token and
 * kubeconfig.
 */
export async function installed(cluster: Cluster): Promise<Rights> {
  await freshBundle();
  await applyManifests(cluster, agentImage);
  await cluster.apply(...(await addedBy("original=kube-system/pull-secret")));
  await cluster.kubectl("scale", `deployment/${name}`, ...its, "--replicas=0");
  return await rightsIn(cluster);
}

async function rightsIn(cluster: Cluster): Promise<Rights> {
  const token = (await cluster.kubectl("create", "token", name, ...its, "--duration=4h")).trim();
  return { token, kubeconfig: writeKubeconfig(cluster, "controller", cluster.server, token) };
}

/**
 * Writes a kubeconfig with the controller's token. `server` can be a proxy that the test can close.
 */
export function writeKubeconfig(
  cluster: Cluster,
  name: string,
  server: string,
  token: string,
): string {
  const file = join(cluster.directory, `${name}.kubeconfig`);
  const content = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "test", cluster: { server, "certificate-authority": cluster.ca } }],
    users: [{ name: "controller", user: { token } }],
    contexts: [{ name: "test", context: { cluster: "test", user: "controller" } }],
    "current-context": "test",
  };
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
  return file;
}

/** A kubeconfig with the controller's token for a proxy before the API server. */
export const kubeconfigBehind = ({ port }: { port: number }, { cluster, token }: Plane): string =>
  writeKubeconfig(cluster, "behind-the-proxy", `https://127.0.0.1:${port}`, token);

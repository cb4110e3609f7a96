/**
 * A hosted cluster with its own API server. Its controller runs in the management cluster, with the
 * rights of manifests/hosted.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { run } from "../cluster/run.ts";
import * as plane from "./plane.ts";

const root = join(import.meta.dirname, "../..");
export const controlPlaneNamespace = "clusters-guest";
const name = "global-pull-secret-controller";

export type HomeCluster = Readonly<{
  cluster: Cluster;
  api: Api;
  /** Path of the kubeconfig of the controller's account in the management cluster. */
  kubeconfig: string;
}>;

/** Starts the management cluster, and applies manifests/hosted as an administrator does. */
export async function startHome(): Promise<HomeCluster> {
  const cluster = await startCluster({ nodes: 0 });
  const overlay = join(cluster.directory, "hosted");
  await run(["cp", "-r", join(root, "manifests/hosted"), overlay]);
  const kustomization = join(overlay, "kustomization.yaml");
  const text = readFileSync(kustomization, "utf8");
  writeFileSync(kustomization, `${text}namespace: ${controlPlaneNamespace}\n`);
  await cluster.kubectl("create", "namespace", controlPlaneNamespace);
  await cluster.kubectl("apply", "-k", overlay);
  const its = ["-n", controlPlaneNamespace];
  await cluster.kubectl("scale", `deployment/${name}`, ...its, "--replicas=0");
  const token = (await cluster.kubectl("create", "token", name, ...its, "--duration=4h")).trim();
  const admin = loadKubeConfig(cluster.kubeconfig);
  return {
    cluster,
    api: connect(admin, () => {}),
    kubeconfig: plane.writeKubeconfig(cluster, "controller", cluster.server, token),
  };
}

type User = Readonly<Record<string, unknown>>;

/**
 * A kubeconfig that names no files and no programs, because it contains all data itself. `more`
 * overrides fields of its cluster.
 */
export function dataKubeconfig(
  { server, ca }: Pick<Cluster, "server" | "ca">,
  user: User,
  more: object = {},
): string {
  const authority = readFileSync(ca).toString("base64");
  const cluster = { server, "certificate-authority-data": authority, ...more };
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "guest", cluster }],
    users: [{ name: "guest", user }],
    contexts: [{ name: "guest", context: { cluster: "guest", user: "guest" } }],
    "current-context": "guest",
  });
}

/**
 * A kubeconfig user with an expired client certificate, signed by the cluster's own certificate
 * authority.
 */
export async function expiredCertificate({ ca, directory }: Cluster): Promise<User> {
  const path = (kind: string) => join(directory, `expired.${kind}`);
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const subject = ["-subj", "/O=system:masters/CN=expired"];
  const request = ["-keyout", path("key"), "-out", path("csr")];
  await run(["openssl", "req", "-new", ...kind, ...subject, ...request]);
  const issuer = ["-CA", ca, "-CAkey", ca.replace(/\.crt$/, ".key"), "-days", "-1"];
  await run(["openssl", "x509", "-req", "-in", path("csr"), ...issuer, "-out", path("crt")]);
  const base64 = (file: string) => readFileSync(file).toString("base64");
  return {
    "client-certificate-data": base64(path("crt")),
    "client-key-data": base64(path("key")),
  };
}

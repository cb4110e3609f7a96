/**
 * etcd, kube-apiserver, kube-controller-manager and kube-scheduler of one cluster, with a stock
 * cluster's settings.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { until } from "./await.ts";
import { makeAuthority, type Authority } from "./host/certificates.ts";
import { processes } from "./host/cgroup.ts";
import { startDaemon } from "./host/daemon.ts";
import { inNamespace, type Network } from "./host/network.ts";
import type { Parts } from "./kit/parts.ts";
import { run } from "./run.ts";

export type ControlPlane = Readonly<{
  authority: Authority;
  server: string;
  adminKubeconfig: string;
  auditLog: string;
}>;

/** Records requests without bodies. Tests count each user's requests in the audit log. */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

/** If this file exists, the API server encrypts etcd's content with the configuration in it. */
const encryptionFile = "encryption.json";

/** Returns the paths and addresses of a control plane, even if another process started it. */
export function controlPlaneAt(
  directory: string,
  network: Network,
  authority: Authority,
): ControlPlane {
  return {
    authority,
    server: `https://${network.hub}:443`,
    adminKubeconfig: join(directory, "pki/admin.kubeconfig"),
    auditLog: join(directory, "audit.log"),
  };
}

/** Where a control plane runs. `groups` are the control groups of the hub. */
export type ControlPlanePlace = Readonly<{
  parts: Parts;
  directory: string;
  network: Network;
  groups: readonly string[];
}>;

/** Differences from a stock cluster; cluster.ts explains each. */
type Settings = Readonly<{
  missedAfter?: number;
  apiOnly?: boolean;
  apiServer?: Readonly<{ audit?: object; encryption?: object }>;
}>;

/**
 * A control plane. The probes of waits call `check`, which throws once a program of the control
 * plane has died.
 */
type Started = Readonly<{ plane: ControlPlane; check: () => void }>;

/**
 * Returns once the API server is ready. If there are controllers, they are up some seconds later.
 */
export async function startControlPlane(
  place: ControlPlanePlace,
  {
    missedAfter = 50,
    apiOnly = false,
    apiServer: { audit = auditPolicy, encryption } = {},
  }: Settings = {},
): Promise<Started> {
  const { directory, network } = place;
  const checks = [start(place, "etcd", etcdFlags(directory))];
  mkdirSync(join(directory, "pki"), { mode: 0o700 });
  const authority = await makeAuthority(join(directory, "pki"));
  const plane = controlPlaneAt(directory, network, authority);
  const clients = {
    admin: "/O=system:masters/CN=admin",
    kubelet: "/O=system:masters/CN=apiserver-kubelet-client",
    "controller-manager": "/CN=system:kube-controller-manager",
    scheduler: "/CN=system:kube-scheduler",
  };
  const serverNames = [
    network.hub,
    network.api,
    "127.0.0.1",
    "kubernetes",
    "kubernetes.default.svc",
  ];
  await Promise.all([
    authority.sign("apiserver", "/CN=kube-apiserver", serverNames),
    ...Object.entries(clients).map(([name, subject]) => authority.sign(name, subject)),
  ]);
  for (const name of ["admin", "controller-manager", "scheduler"])
    authority.kubeconfig(name, plane.server);
  writeFileSync(join(directory, "audit-policy.json"), JSON.stringify(audit));
  if (encryption !== undefined)
    writeFileSync(join(directory, encryptionFile), JSON.stringify(encryption), { mode: 0o600 });

  checks.push(start(place, "kube-apiserver", apiServerFlags(directory, network, plane)));
  const check = () => checks.forEach((checkProgram) => checkProgram());
  await untilApiReady(place, plane, check);
  // Starts the controller manager only now, because it ends if no API server is healthy within 10
  // s. On a busy machine the API server takes longer, and no kubelet is here to restart a
  // controller manager that has ended.
  if (!apiOnly) {
    const managing = controllerManagerFlags(authority.directory, missedAfter);
    checks.push(start(place, "kube-controller-manager", managing));
    const leader = "--leader-elect=false";
    checks.push(
      start(place, "kube-scheduler", [leader, kubeconfigFlag(authority.directory, "scheduler")]),
    );
  }
  return { plane, check };
}

/**
 * Kills etcd or the API server, like a crash, and returns when the process is gone. Keeps the data
 * that etcd wrote.
 */
export async function killPart(
  { groups }: ControlPlanePlace,
  name: "etcd" | "kube-apiserver",
): Promise<void> {
  const alive = (): number[] => groups.flatMap(processes).filter((pid) => isProgram(pid, name));
  for (const pid of new Set(alive())) process.kill(pid, "SIGKILL");
  await until(`${name} is gone`, () => alive().length === 0);
}

/** Starts the program that killPart ended; returns once the API server answers from etcd. */
export async function startPart(
  place: ControlPlanePlace,
  plane: ControlPlane,
  name: "etcd" | "kube-apiserver",
): Promise<void> {
  const { directory, network } = place;
  const flags = name === "etcd" ? etcdFlags(directory) : apiServerFlags(directory, network, plane);
  await untilApiReady(place, plane, start(place, name, flags));
}

/** Starts only etcd, for an API server that starts next. */
export function startEtcd(place: ControlPlanePlace): void {
  start(place, "etcd", etcdFlags(place.directory));
}

function start(
  { parts, directory, network, groups }: ControlPlanePlace,
  name: string,
  flags: readonly string[],
): () => void {
  const argv = inNamespace(network, "hub", [parts.path(name), ...flags]);
  // Makes Go collect garbage less often. This saves a fifth of the processor time until everything
  // is up, and costs 120 MiB of memory.
  const env = { GOGC: "400" };
  return startDaemon({ name, argv, groups, log: join(directory, `${name}.log`), env }).check;
}

function isProgram(pid: number, name: string): boolean {
  try {
    return basename(readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[0] ?? "") === name;
  } catch {
    return false; // gone
  }
}

async function untilApiReady(
  { parts }: ControlPlanePlace,
  plane: ControlPlane,
  check: () => void,
): Promise<void> {
  await until(
    "the API server is ready",
    async () => {
      check();
      const admin = `--kubeconfig=${plane.adminKubeconfig}`;
      return (
        (await run([
          parts.path("kubectl"),
          admin,
          "--request-timeout=5s",
          "get",
          "--raw=/readyz",
        ])) === "ok"
      );
    },
    { timeout: 90_000, every: 200 },
  );
}

function etcdFlags(directory: string): string[] {
  return [
    `--data-dir=${join(directory, "etcd")}`,
    "--unsafe-no-fsync", // the data is disposable
    "--listen-client-urls=http://127.0.0.1:2379",
    "--advertise-client-urls=http://127.0.0.1:2379",
    "--listen-peer-urls=http://127.0.0.1:2380",
    "--log-level=warn",
  ];
}

function apiServerFlags(directory: string, network: Network, plane: ControlPlane): string[] {
  const pki = (file: string): string => join(plane.authority.directory, file);
  const encryption = join(directory, encryptionFile);
  return [
    ...(existsSync(encryption) ? [`--encryption-provider-config=${encryption}`] : []),
    "--etcd-servers=http://127.0.0.1:2379",
    "--secure-port=443", // also the port of Service default/kubernetes
    `--advertise-address=${network.hub}`,
    `--service-cluster-ip-range=${network.services}`,
    `--client-ca-file=${pki("ca.crt")}`,
    `--tls-cert-file=${pki("apiserver.crt")}`,
    `--tls-private-key-file=${pki("apiserver.key")}`,
    `--kubelet-client-certificate=${pki("kubelet.crt")}`,
    `--kubelet-client-key=${pki("kubelet.key")}`,
    "--kubelet-preferred-address-types=InternalIP", // no DNS server resolves node names
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    `--service-account-key-file=${pki("sa.pub")}`,
    `--service-account-signing-key-file=${pki("sa.key")}`,
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
    `--audit-policy-file=${join(directory, "audit-policy.json")}`,
    `--audit-log-path=${plane.auditLog}`,
  ];
}

function controllerManagerFlags(pki: string, missedAfter: number): string[] {
  return [
    "--leader-elect=false",
    "--use-service-account-credentials=true",
    kubeconfigFlag(pki, "controller-manager"),
    `--root-ca-file=${join(pki, "ca.crt")}`,
    `--service-account-private-key-file=${join(pki, "sa.key")}`,
    `--node-monitor-grace-period=${missedAfter}s`,
    // A quota can take this long until it counts the objects of a new CRD. The default is 5
    // minutes.
    "--resource-quota-sync-period=20s",
  ];
}

function kubeconfigFlag(pki: string, name: string): string {
  return `--kubeconfig=${join(pki, `${name}.kubeconfig`)}`;
}

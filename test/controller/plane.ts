/**
 * A real etcd, API server, DaemonSet controller and scheduler, and the controller as it is shipped:
 * a process of its own that holds exactly the rights of manifests/. The nodes are faked by
 * fake-kubelets.ts: what a kubelet does is not what is tested here.
 */
import { KubeConfig, type V1Secret } from "@kubernetes/client-node";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "#kube/client/client.ts";
import type { Cluster as Api } from "#kube/client/cluster.ts";
import { freshBundle } from "../../build/bundle.ts";
import { until } from "../cluster/await.ts";
import { auditOf, isWrite, type Asked } from "../cluster/audit.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { directEnvironment } from "../cluster/run.ts";
import { steer } from "./steer.ts";

const leases = "coordination.k8s.io/leases";
const account = "system:serviceaccount:kube-system:global-pull-secret-controller";
const root = join(import.meta.dirname, "../..");

export type Plane = Readonly<{ cluster: Cluster; api: Api; kubeconfig: string; token: string }> &
  AsyncDisposable;

/**
 * Control plane up, manifests/ applied, their Deployment scaled to nothing: tests start the
 * controller themselves.
 */
export async function startPlane(): Promise<Plane> {
  const cluster = await startCluster({ nodes: 0 });
  const rights = await installed(cluster);
  const admin = new KubeConfig();
  admin.loadFromFile(cluster.kubeconfig);
  const plane = {
    cluster,
    ...rights,
    api: connect(admin, () => {}),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
  await steer(plane);
  return plane;
}

/** Applies manifests/, their Deployment scaled to nothing; returns what a controller is told. */
export async function installed(cluster: Cluster): Promise<Pick<Plane, "kubeconfig" | "token">> {
  await freshBundle();
  const name = "global-pull-secret-controller";
  const its = ["-n", "kube-system"];
  await cluster.kubectl("apply", "-k", join(root, "manifests"));
  await cluster.kubectl("apply", "-f", join(root, "manifests/components/original/role.yaml"));
  await cluster.kubectl("scale", `deployment/${name}`, ...its, "--replicas=0");
  const token = (await cluster.kubectl("create", "token", name, ...its, "--duration=4h")).trim();
  return { token, kubeconfig: writeKubeconfig(cluster, "controller", cluster.server, token) };
}

/**
 * A kubeconfig with the controller's token; `server` may lead through a wall that the test can
 * close.
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

export type Controller = Readonly<{
  /** All that it wrote to stdout and stderr so far. */
  output: () => string;
  /** SIGTERM and wait; resolves with the exit code. */
  stop: () => Promise<number>;
  /**
   * SIGKILL and wait. The Lease is not given back: another controller waits until it has run out.
   */
  kill: () => Promise<void>;
  signal: (name: NodeJS.Signals) => void;
  /** The exit code, once it has ended. */
  exited: () => number | undefined;
}> &
  AsyncDisposable;

/** A controller has this long to give back the Lease before a test goes on without it. */
const patience = 5000;

export const agentImage = "example.invalid/global-pull-secret:test";

/** With POD_NAME in the environment it is left to find the agents' image by itself. */
export function startController(kubeconfig: string, ...flags: readonly string[]): Controller {
  const image = process.env["POD_NAME"] === undefined ? ["--agent-image", agentImage] : [];
  const listen = flags.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  const defaults = ["--kubeconfig", kubeconfig, ...image, ...listen];
  const argv = [join(root, "dist/controller.cjs"), ...defaults, ...flags];
  const child = spawn(process.execPath, argv, {
    env: directEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const end = async (signal: NodeJS.Signals): Promise<number> => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode ?? 128;
    const ended = once(child, "exit");
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code ?? 128;
  };
  return {
    output: () => output,
    stop: () => end("SIGTERM"),
    kill: async () => void (await end("SIGKILL")),
    signal: (name) => void child.kill(name),
    exited: () => (child.signalCode === null ? (child.exitCode ?? undefined) : 128),
    async [Symbol.asyncDispose]() {
      const timer = setTimeout(() => child.kill("SIGKILL"), patience);
      await end("SIGTERM");
      clearTimeout(timer);
    },
  };
}

const system = "/namespaces/kube-system";
export const paths = {
  secrets: `/api/v1${system}/secrets`,
  additional: `/api/v1${system}/secrets/additional-pull-secret`,
  state: `/api/v1${system}/secrets/global-pull-secret-state`,
  global: `/api/v1${system}/secrets/global-pull-secret`,
  daemonSet: `/apis/apps/v1${system}/daemonsets/global-pull-secret-syncer`,
  serviceAccount: `/api/v1${system}/serviceaccounts/global-pull-secret-syncer`,
  role: `/apis/rbac.authorization.k8s.io/v1${system}/roles/global-pull-secret-syncer`,
  roleBinding: `/apis/rbac.authorization.k8s.io/v1${system}/rolebindings/global-pull-secret-syncer`,
};
export const ownPaths = [
  paths.state,
  paths.global,
  paths.serviceAccount,
  paths.role,
  paths.roleBinding,
  paths.daemonSet,
];

const lease = ["lease", "global-pull-secret-controller", "-n", "kube-system"] as const;

/** Name of the controller that holds the Lease; empty when nobody does. */
export async function leader(plane: Plane): Promise<string> {
  return await plane.cluster.kubectl(
    "get",
    ...lease,
    "--ignore-not-found",
    "-o",
    "jsonpath={.spec.holderIdentity}",
  );
}

/** As if it had run out after a kill. */
export async function freeLease(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", ...lease, "--ignore-not-found");
}

/** A pull secret's document with one entry per pair. */
export function document(entries: Record<string, string>): string {
  const auths = Object.entries(entries).map(([registry, pair]) => [
    registry,
    { auth: Buffer.from(pair).toString("base64") },
  ]);
  return JSON.stringify({ auths: Object.fromEntries(auths) });
}

export function pullSecret(name: string, text: string, more: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: "kube-system" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(text).toString("base64") },
    ...more,
  };
}

/** Creates or replaces additional-pull-secret. */
export async function declare(
  plane: Plane,
  text: string,
  name = "additional-pull-secret",
): Promise<void> {
  await plane.api.apply(`${paths.secrets}/${name}`, pullSecret(name, text), {
    manager: "test",
    force: true,
  });
}

export type EventView = Readonly<{
  type: string;
  reason: string;
  message: string;
  involvedObject: { name: string };
}>;

export async function eventsOf(plane: Plane): Promise<readonly EventView[]> {
  const all: EventView[] = [];
  await plane.api.pages<EventView>(`/api/v1${system}/events`, {}, (items) => {
    all.push(
      ...items.filter(({ involvedObject }) => involvedObject.name === "additional-pull-secret"),
    );
  });
  return all;
}

export async function untilEvent(
  plane: Plane,
  reason: string,
  words = "",
  timeout = 20_000,
): Promise<EventView> {
  return until(
    `there is an Event ${reason} with "${words}"`,
    async () =>
      (await eventsOf(plane)).find(
        (event) => event.reason === reason && event.message.includes(words),
      ),
    {
      timeout,
      seen: async () =>
        (await eventsOf(plane)).map(({ reason, message }) => `${reason}: ${message}`),
    },
  );
}

/**
 * Deletes all of ours by hand, while no controller runs: for the next test, without a removal that
 * nobody looks at.
 */
export async function wipe(plane: Plane): Promise<void> {
  const kubectl = (...args: string[]) =>
    plane.cluster.kubectl("-n", "kube-system", ...args, "--ignore-not-found");
  const secrets = ["additional-pull-secret", "global-pull-secret", "global-pull-secret-state"];
  const syncer = "global-pull-secret-syncer";
  await Promise.all([
    kubectl("delete", "secrets", ...secrets),
    kubectl("delete", "daemonset", syncer, "--cascade=foreground", "--timeout=60s"),
    kubectl("delete", "rolebinding,role,serviceaccount", syncer),
  ]);
  await forgetEvents(plane);
}

/** In one request: kubectl's `--all` makes one for each. */
async function forgetEvents(plane: Plane): Promise<void> {
  await plane.cluster.kubectl("delete", "--raw", `/api/v1${system}/events`);
}

/** Deletes additional-pull-secret, waits until nothing of ours is left, and forgets the Events. */
export async function clear(plane: Plane): Promise<void> {
  await plane.cluster.kubectl(
    "delete",
    "secret",
    "additional-pull-secret",
    "-n",
    "kube-system",
    "--ignore-not-found",
  );
  await untilGone(plane);
  await forgetEvents(plane);
}

export async function untilGone(plane: Plane, timeout = 180_000): Promise<void> {
  const left = async () =>
    (await Promise.all(ownPaths.map((path) => plane.api.get(path)))).filter((o) => o !== undefined)
      .length;
  await until("nothing of ours is left", async () => (await left()) === 0, { timeout, seen: left });
}

export type Request = Asked;

/**
 * What the controller asked of the API server from `since` on, watches when they ended; what keeps
 * its Lease apart.
 */
export function requests(plane: Plane, since = ""): Request[] {
  return allRequests(plane, since).filter(({ resource }) => resource !== leases);
}

/**
 * What the controller asked to change; also what was refused. Without its Lease and what only
 * tells: Events and status.
 */
export function writes(plane: Plane, since: string): Request[] {
  return requests(plane, since).filter(
    (one) => isWrite(one) && one.resource !== "events" && one.subresource !== "status",
  );
}

function withGroup({ group, resource, ...request }: Asked): Request {
  const path = [group, resource, request.subresource].filter(Boolean).join("/");
  return { ...request, group, resource: path };
}

/** As `requests`, with what keeps its Lease. A resource has its API group before it. */
export function allRequests(plane: Plane, since = ""): Request[] {
  return auditOf(plane.cluster, { since })
    .filter(({ user }) => user === account)
    .map((one) => withGroup(one));
}

/** global-pull-secret as people read it; undefined when it is not there. */
export async function published(
  plane: Plane,
): Promise<{ document: string; revision: number; sources: string } | undefined> {
  const secret = await plane.api.get<V1Secret>(paths.global);
  if (secret === undefined) return undefined;
  const text = (key: string) => Buffer.from(secret.data?.[key] ?? "", "base64").toString();
  return {
    document: text(".dockerconfigjson"),
    revision: Number(text("revision")),
    sources: text("sources"),
  };
}

/** Waits until the published document is this one; returns its revision. */
export async function untilPublished(
  plane: Plane,
  expected: string,
  timeout = 20_000,
): Promise<number> {
  const seen = await until(
    `${expected} is published`,
    async () => {
      const now = await published(plane);
      return now?.document === expected && now;
    },
    { timeout, seen: () => published(plane) },
  );
  return seen.revision;
}

/** Waits until every living node has this revision, as the Event says; returns what it says. */
export async function untilRolledOut(
  plane: Plane,
  revision: number,
  timeout = 180_000,
): Promise<string> {
  return (await untilEvent(plane, "RolledOut", `revision ${revision} is on`, timeout)).message;
}

/** Declares this document and waits until it is rolled out; returns its revision. */
export async function deployed(plane: Plane, text: string): Promise<number> {
  await declare(plane, text);
  const revision = await untilPublished(plane, text);
  await until("the DaemonSet is there", async () => await plane.api.get(paths.daemonSet));
  await untilRolledOut(plane, revision);
  return revision;
}

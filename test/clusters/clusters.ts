/** One user's kubeconfig for several clusters, and `kubectl pull-secret` with it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { sign } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { load } from "js-yaml";
import type { V1Secret } from "@kubernetes/client-node";
import type { ClusterProfile } from "#api/cluster-profile.ts";
import { clustersNamespace } from "#contract/joined.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { directEnvironment } from "../cluster/run.ts";
import type { Home, startFleet } from "../fleet/fleet.ts";

const program = join(import.meta.dirname, "../../dist/kubectl-pull_secret.cjs");

type Entry = Readonly<{ name: string }>;
type Kubeconfig = Readonly<{
  clusters: readonly (Entry & { cluster: object })[];
  users: readonly (Entry & { user: object })[];
}>;

type Ran = Readonly<{ code: number; out: string; err: string }>;

/**
 * A user with a kubeconfig. `plugin` and `kubectl` split a line at spaces into arguments, and run
 * the command with this kubeconfig.
 */
export type Person = Readonly<{
  folder: string;
  kubeconfig: string;
  plugin: (line: string) => Promise<Ran>;
  kubectl: (line: string) => Promise<Ran>;
  /** Runs the plugin and returns its output. Fails if the exit code is not 0. */
  ok: (line: string) => Promise<string>;
  /** Runs the plugin. Fails unless the exit code is 1 and standard error matches the pattern. */
  refused: (line: string, pattern: RegExp) => Promise<void>;
  /**
   * From now on a run fails if its output or a file that it writes contains one of these values.
   */
  plant: (...values: readonly string[]) => void;
}>;

export type Rig = Readonly<{
  home: Home;
  east: Cluster;
  west: Cluster;
  person: Person;
  controller: ReturnType<typeof startFleet>;
}>;

/** A user with a context for each cluster. The first context is the current one. */
export function personWith(contexts: Readonly<Record<string, Cluster>>): Person {
  const folder = mkdtempSync(join(tmpdir(), "clusters-"));
  const kubeconfig = join(folder, "kubeconfig");
  const parts = Object.entries(contexts).map(([name, cluster]) => {
    const { clusters, users } = load(readFileSync(cluster.kubeconfig, "utf8")) as Kubeconfig;
    return {
      cluster: { name, cluster: clusters[0]?.cluster },
      user: { name, user: users[0]?.user },
      context: { name, context: { cluster: name, user: name } },
    };
  });
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: parts.map(({ cluster }) => cluster),
    users: parts.map(({ user }) => user),
    contexts: parts.map(({ context }) => context),
    "current-context": Object.keys(contexts)[0],
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const env = directEnvironment({ KUBECONFIG: kubeconfig });
  const planted = new Set<string>();
  const run = async (argv: readonly string[]): Promise<Ran> => {
    const [first = "", ...rest] = argv;
    const child = spawn(first, rest, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    const [code] = (await once(child, "close")) as [number];
    for (const text of [out, err, ...writtenBelow(folder)])
      for (const value of planted) assert.ok(!text.includes(value), `${rest.join(" ")}: a secret`);
    return { code, out, err };
  };
  const kubectl = Object.values(contexts)[0]?.kit.parts.path("kubectl") ?? "kubectl";
  const plugin = (line: string) => run([process.execPath, program, ...line.split(" ")]);
  return {
    folder,
    kubeconfig,
    plugin,
    kubectl: (line) => run([kubectl, ...line.split(" ")]),
    async ok(line) {
      const { code, out, err } = await plugin(line);
      assert.equal(code, 0, `${line}\n${out}${err}`);
      return out;
    },
    async refused(line, pattern) {
      const { code, out, err } = await plugin(line);
      assert.equal(code, 1, `${line}\n${out}${err}`);
      assert.match(err, pattern);
    },
    plant: (...values) => {
      for (const value of values) planted.add(value);
    },
  };
}

/**
 * The content of the files that commands wrote into subfolders of a user's folder. The files
 * directly in the folder are the user's own.
 */
function writtenBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.parentPath !== folder)
    .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "utf8"));
}

const its = ["-n", clustersNamespace];

export const profileIn = async (host: Cluster, name: string) =>
  await host.get<ClusterProfile>("clusterprofile", name, ...its);

export const tokenIn = async (host: Cluster, name: string) =>
  await host.get<V1Secret>("secret", name, ...its);

/**
 * Replaces the token of a joined cluster by one that is valid from `issued` to `expires`, in
 * milliseconds. The key of the joined cluster signs it, so that its API server accepts it.
 */
export async function setTokenTimes(
  host: Cluster,
  [name, joined]: readonly [name: string, cluster: Cluster],
  { issued, expires }: Readonly<{ issued: number; expires: number }>,
): Promise<void> {
  const stored = (await tokenIn(host, name))?.data?.["token"] ?? "";
  const [header = "", payload = ""] = Buffer.from(stored, "base64").toString().split(".");
  const claims = {
    ...(JSON.parse(Buffer.from(payload, "base64url").toString()) as object),
    iat: issued / 1000,
    exp: expires / 1000,
  };
  const signed = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  const key = readFileSync(join(dirname(joined.ca), "sa.key"));
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  const token = Buffer.from(`${signed}.${signature.toString("base64url")}`).toString("base64");
  await host.kubectl("patch", "secret", name, ...its, "-p", JSON.stringify({ data: { token } }));
}

/** Waits until the profile's condition has this status and a message that matches `pattern`. */
export async function untilCondition(
  host: Cluster,
  name: string,
  [type, status]: readonly [type: string, status: string],
  pattern = /./,
): Promise<void> {
  await until(
    `${name}'s ${type} is ${status}, ${pattern}`,
    async () => {
      const all = (await profileIn(host, name))?.status?.conditions;
      const found = all?.find((one) => one.type === type);
      return found?.status === status && pattern.test(found.message);
    },
    { timeout: 60_000, seen: async () => JSON.stringify((await profileIn(host, name))?.status) },
  );
}

/** Returns true if the ServiceAccount of a join exists in the cluster. */
export const joinedIn = async (cluster: Cluster): Promise<boolean> =>
  (await cluster.get("serviceaccount", "global-pull-secret-joined", "-n", "kube-system")) !==
  undefined;

/**
 * Returns the names of all admission policies and bindings that joins have created in the cluster.
 */
export async function guardsIn(cluster: Cluster): Promise<readonly string[]> {
  const kinds = "validatingadmissionpolicies,validatingadmissionpolicybindings";
  const names = (await cluster.kubectl("get", kinds, "-o", "name")).split("\n");
  return names.filter((name) => name.includes("/global-pull-secret-joined"));
}

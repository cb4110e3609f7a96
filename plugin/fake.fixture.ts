/**
 * A fake API server with the interface `Cluster`, and a function that runs a command against this
 * fake in this process. The fake stores objects by path, and checks only their type and name.
 * test/plugin/cluster.test.ts uses a real API server.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { syncBuiltinESMExports } from "node:module";
import type { TestContext } from "node:test";
import timers, { setImmediate } from "node:timers/promises";
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { authority } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import { collections, globalPullSecretPath } from "#kube/client/paths.ts";
import { picksOf, type Stored } from "#test/harness/api/protocol.ts";
import { runCommandLine } from "./command-line.ts";
import { Misuse, type Io, errTo } from "./terminal/io.ts";

type Write = Readonly<{ verb: string; path: string; body?: unknown; options?: unknown }>;

export class FakeCluster implements Cluster {
  readonly identity = "fake";
  /** Path → object. */
  readonly objects = new Map<string, object>();
  /** Path → the HTTP status with which the fake refuses a read. */
  readonly refusals = new Map<string, number>();
  /** True if our CRD is not installed. Reads of GlobalPullSecrets then find nothing. */
  missing = false;
  /** The changes that the first watch reports, one after the other. */
  readonly later: GlobalPullSecret[] = [];
  readonly writes: Write[] = [];
  /**
   * Called before each write, so that a test can let another client act first. If it throws, the
   * write fails.
   */
  before: (write: Write) => void = () => {};
  readonly #watches = new Set<(line: string) => void>();
  #version = 100;

  get<T>(path: string): Promise<T | undefined> {
    const status = this.refusals.get(path);
    if (status !== undefined) return Promise.reject(refusal(status, "GET", path));
    const [collection = "", query] = path.split("?");
    if (query === undefined) return Promise.resolve(this.objects.get(path) as T | undefined);
    if (this.missing) return Promise.resolve(undefined);
    const name = /metadata\.name%3D(.+)/.exec(query)?.[1];
    const item = this.objects.get(`${collection}/${name}`);
    const metadata = { resourceVersion: String(this.#version) };
    return Promise.resolve({ kind: "List", metadata, items: item ? [item] : [] } as T);
  }

  pages<T>(
    path: string,
    query: Readonly<Record<string, string>>,
    each: (items: readonly T[], version: string) => void,
  ): Promise<void> {
    const status = this.refusals.get(path);
    if (status !== undefined) return Promise.reject(refusal(status, "GET", path));
    const picks = picksOf(new URLSearchParams(query));
    const all = [...this.objects].filter(
      ([key, object]) => key.startsWith(`${path}/`) && picks(object as Stored),
    );
    each(
      all.map(([, item]) => item as T),
      String(this.#version),
    );
    return Promise.resolve();
  }

  apply<T>(path: string, body: object, options: object): Promise<T> {
    return this.#write({ verb: "apply", path, body, options }) as Promise<T>;
  }

  create<T>(path: string, body: object): Promise<T> {
    return this.#write({ verb: "create", path, body }) as Promise<T>;
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.#write({ verb: "patch", path, body }) as Promise<T>;
  }

  replace<T>(path: string, body: object): Promise<T> {
    return this.#write({ verb: "replace", path, body }) as Promise<T>;
  }

  remove(path: string, uid: string, resourceVersion?: string): Promise<void> {
    const stored: Readonly<{ metadata?: V1ObjectMeta }> | undefined = this.objects.get(path);
    assert.equal(uid, stored?.metadata?.uid ?? uid, `another uid than that of ${path}`);
    return this.#write({
      verb: "remove",
      path,
      options: { uid, resourceVersion },
    }) as Promise<void>;
  }

  async stream(_: string, __: unknown, signal: AbortSignal, line: (text: string) => void) {
    if (signal.aborted) return;
    this.#watches.add(line);
    for (const reported of this.later.splice(0)) this.change(reported);
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    this.#watches.delete(line);
  }

  /** Changes the object. Every watch reports the change. */
  change(object: GlobalPullSecret): void {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    this.objects.set(globalPullSecretPath, { ...object, metadata });
    const line = JSON.stringify({ type: "MODIFIED", object: { ...object, metadata } });
    for (const reported of this.#watches) reported(line);
  }

  async #write(write: Write): Promise<unknown> {
    this.before(write);
    if (write.verb !== "remove" && write.verb !== "patch") assertAddressed(write.path, write.body);
    this.writes.push(write);
    if (write.verb === "remove") this.objects.delete(write.path);
    return await Promise.resolve(write.body);
  }
}

const address =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>[^/]+)(?:\/namespaces\/(?<namespace>[^/]+))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+)(?:\/status)?)?$/;
const tokenRequest = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" };

/**
 * Checks an object's type, namespace and name as an API server does: they must be those of the
 * request's path. The path of a new object has no name. The path of a token has another type.
 */
export function assertAddressed(path: string, body: unknown): void {
  const object = body as Readonly<{ apiVersion?: string; kind?: string; metadata?: V1ObjectMeta }>;
  if (path.endsWith("/token")) return assert.partialDeepStrictEqual(object, tokenRequest);
  const { group, version, namespace = "", plural, name } = address.exec(path)?.groups ?? {};
  const { apiVersion, kind = "", metadata } = object;
  const resource = `${kind.toLowerCase().replace(/y$/, "ie")}s`;
  assert.deepEqual(
    [apiVersion, resource, metadata?.namespace ?? namespace, name ?? metadata?.name],
    [group === undefined ? version : `${group}/${version}`, plural, namespace, metadata?.name],
    `another object than that of ${path}`,
  );
}

export const refusal = (status: number, method: string, path: string): ApiError =>
  new ApiError({ status, reason: "Refused", method, path });

/** The refusal of a write by an admission policy. */
export const denial = new ApiError({
  status: 422,
  reason: "Invalid",
  method: "POST",
  path: "/x",
  denied: true,
});

/**
 * Lets pauses pass at once until the test ends. performance.now counts them. `passed`: the
 * milliseconds of all pauses.
 */
export function mockPauses(t: TestContext): Readonly<{ passed: number }> {
  const pauses = { passed: 0 };
  // Whole numbers avoid rounding.
  const began = Math.ceil(performance.now());
  t.mock.method(performance, "now", () => began + pauses.passed);
  const pause = t.mock.method(timers, "setTimeout", async (milliseconds = 0) => {
    pauses.passed += milliseconds;
    await setImmediate();
  });
  syncBuiltinESMExports();
  t.after(() => {
    pause.mock.restore();
    syncBuiltinESMExports();
  });
  return pauses;
}

type Setting = Readonly<{
  cluster?: FakeCluster;
  input?: string | Uint8Array;
  colour?: boolean;
  /** Called with every line as it is printed. */
  received?: (line: string) => void;
  signal?: AbortSignal;
  confirm?: (question: string) => Promise<boolean>;
  /** Replaces parts of the fake. */
  io?: Partial<Io>;
}>;

export type Ran = Readonly<{ code: number; out: string; err: string }>;

/** Runs a command. The first item of `argv` is its name, such as `fleet join`. */
export async function call(argv: readonly string[], setting: Setting = {}): Promise<Ran> {
  const {
    cluster = new FakeCluster(),
    input = "",
    colour = false,
    received,
    signal,
    confirm,
  } = setting;
  let [out, err] = ["", ""];
  const io: Io = {
    read: (path, limit) =>
      path === "-" ? Promise.resolve(Buffer.from(input).subarray(0, limit + 1)) : noFile(path),
    out: (text) => {
      out += text;
      received?.(text);
    },
    err: errTo((text) => {
      err += text;
      received?.(text);
    }),
    write: (path) => noFile(path),
    piped: false,
    confirm,
    askPassword: undefined,
    colour,
    reach: () => Promise.resolve(cluster),
    place: () => Promise.resolve(place),
    contexts: () => Promise.resolve(["fake"]),
    namespace: () => Promise.resolve("shop"),
    documents: () => Promise.resolve([]),
    yaml: (value) => Promise.resolve(`${JSON.stringify(value)}\n`),
    signal: signal ?? new AbortController().signal,
  };
  // A command's name can consist of two words.
  const words = argv.flatMap((word, at) => (at === 0 ? word.split(" ") : word));
  const code = await runCommandLine(words, { ...io, ...setting.io });
  return { code, out, err };
}

export const place = { server: "https://fake.example", "certificate-authority-data": authority };
const noFile = (path: string) => Promise.reject(new Misuse(`${path}: no such file`));

export const additionalPath = `${collections.secrets}/additional-pull-secret`;

/** A pull secret with one entry for each pair, registry → user:password. */
export function pullSecret(
  entries: Readonly<Record<string, string>>,
  metadata: object = {},
): V1Secret {
  const auths = Object.entries(entries).map(([registry, pair]) => [
    registry,
    { auth: Buffer.from(pair).toString("base64") },
  ]);
  const document = JSON.stringify({ auths: Object.fromEntries(auths) });
  return {
    type: "kubernetes.io/dockerconfigjson",
    metadata: { name: "additional-pull-secret", uid: "u1", resourceVersion: "812", ...metadata },
    data: { ".dockerconfigjson": Buffer.from(document).toString("base64") },
  };
}

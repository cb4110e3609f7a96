/**
 * One cluster, reached as one identity. Requests are plain JSON, because @kubernetes/client-node's
 * typed API rebuilds every object and drops the fields that it does not know.
 */
import { HttpMethod, type KubeConfig } from "@kubernetes/client-node";
import { ApiError } from "./api-error.ts";
import type { ReadOptions, Replacing } from "./cluster.ts";
import { type Asker, type Connection, open } from "./connection.ts";
import { listPages } from "./pages.ts";
import { follow } from "./stream.ts";

/** The Accept header for an object's metadata only, so that a Secret comes without its data. */
const metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

/**
 * The cluster of a kubeconfig's current context. `asked` is called with every request and its
 * outcome, for the metrics. Throws if the kubeconfig names no cluster.
 */
export function connect(
  config: KubeConfig,
  asked: (method: string, status: number) => void,
  asker: Asker = {},
): Replacing {
  return callsOver(open(config, asked, asker));
}

/** The calls to the cluster that a connection leads to. */
export function callsOver(connection: Connection): Replacing {
  const { ask, manager } = connection;
  return {
    identity: connection.server,
    get<T>(path: string, { as, ...timeouts }: ReadOptions = {}): Promise<T | undefined> {
      return present(ask<T>({ method: HttpMethod.GET, path, ...readAs(as) }, timeouts));
    },
    pages: (path, query, each, how = {}) => listPages(connection, { path, query }, each, how),
    async apply(path, body, { manager, force, dryRun, isPublic, ...timeouts }) {
      const dry = dryRun === true ? { dryRun: "All" } : {};
      const query = { fieldManager: manager, force: String(force), ...dry };
      const type = "application/apply-patch+yaml";
      return ask({ method: HttpMethod.PATCH, path, query, body, type, isPublic }, timeouts);
    },
    async create(path, body) {
      return ask({ method: HttpMethod.POST, path, query: { fieldManager: manager }, body });
    },
    async patch(path, body) {
      const query = { fieldManager: manager };
      const type = "application/merge-patch+json";
      return ask({ method: HttpMethod.PATCH, path, query, body, type });
    },
    async replace(path, body) {
      return ask({ method: HttpMethod.PUT, path, query: { fieldManager: manager }, body });
    },
    async remove(path, uid, resourceVersion, propagationPolicy = "Background") {
      const body = { propagationPolicy, preconditions: { uid, resourceVersion } };
      await present(ask({ method: HttpMethod.DELETE, path, body }));
    },
    stream: (path, query, signal, line, as) =>
      follow(connection, { path, query, ...readAs(as) }, signal, line),
  };
}

function readAs(as: ReadOptions["as"]): Readonly<{ accept?: string; text?: true }> {
  if (as === "text") return { accept: "*/*", text: true };
  return as === "metadata" ? { accept: metadata } : {};
}

/** The answer; undefined if the object does not exist. */
async function present<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && !error.isDenial) return undefined;
    throw error;
  }
}

/**
 * Fake API server: takes a request of the Kubernetes API, returns its answer. Serves only what our
 * programs use: get, list by pages, names as Table rows, metadata only, watch, create, eviction,
 * server-side apply, merge patch, replacement, status, deletion, and discovery of groups.
 */
import type { Query } from "#kube/client/cluster.ts";
import {
  addressOf,
  picksOf,
  Refusal,
  refuse,
  type Address,
  type Picks,
  type Stored,
} from "./protocol.ts";
import { Store, type Body, type Change, type DeleteOptions } from "./store.ts";

/** A request, from the wire or made in memory. */
export type ApiRequest = Readonly<{
  method: string;
  /** The path below the server's address. */
  path: string;
  query?: Query;
  body?: object | undefined;
  accept?: string | undefined;
  type?: string | undefined;
  /** Name of the program, which identifies its requests. */
  userAgent?: string;
}>;

/**
 * A whole answer, or a watch: `follow` calls `line` for each event until you call the function that
 * `follow` returned.
 */
export type Answer =
  | Readonly<{ status: number; body: object; headers?: Readonly<Record<string, string>> }>
  | Readonly<{ status: 200; follow: (line: (text: string) => void) => () => void }>;

/** A request that was answered, for tests that count or compare them. */
export type Asked = Readonly<{
  verb: string;
  /**
   * `apps/daemonsets`, or `secrets` of the core group. Includes the subresource, such as `/status`.
   */
  resource: string;
  namespace: string;
  name: string;
  query: Query;
  userAgent: string;
  status: number;
  body: object | undefined;
}>;

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

export class FakeApi {
  readonly store: Store;
  readonly asked: Asked[] = [];
  /**
   * Tests set this to refuse requests, for example to simulate a rate limit, a missing right or an
   * outage.
   */
  refuses: (request: ApiRequest, verb: string) => Refusal | undefined = () => undefined;

  constructor(store: Store = new Store()) {
    this.store = store;
  }

  /** Returns the stored object at this path, so that tests can read it. */
  object<T>(path: string): T | undefined {
    const { name, ...where } = addressOf(path, this.store.resources);
    const [object] = this.store.list(where, ({ metadata }) => metadata.name === name).items;
    return object as T | undefined;
  }

  /** Answers a request. Never throws, whatever the client sends. */
  answer(request: ApiRequest): Answer {
    const { verb, address } = this.#read(request);
    try {
      const refusal = this.refuses(request, verb);
      if (refusal !== undefined) throw refusal;
      if (request.path === "/version") return { status: 200, body: { gitVersion: "v1.36.3" } };
      if (request.path === "/apis") return this.#noted(request, verb, address, this.#groups());
      if (address === undefined)
        throw refuse(404, "NotFound", "the server could not find the requested resource");
      return this.#noted(request, verb, address, this.#served(request, verb, address));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { status, body, retryAfterSeconds: after } = error;
      const headers = after === undefined ? {} : { "Retry-After": String(after) };
      return this.#noted(request, verb, address, { status, body, headers });
    }
  }

  #read({ method, path, query }: ApiRequest): { verb: string; address: Address | undefined } {
    let address: Address | undefined;
    try {
      address = addressOf(path, this.store.resources);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    const reads =
      query?.["watch"] === "true" ? "watch" : (address?.name ?? "") === "" ? "list" : "get";
    return { verb: method === "GET" ? reads : (verbs[method] ?? method), address };
  }

  #noted(request: ApiRequest, verb: string, address: Address | undefined, answer: Answer): Answer {
    const { resource, namespace = "", name = "", subresource = "" } = address ?? {};
    const group = /^(.+)\//.exec(resource?.apiVersion ?? "")?.[1];
    this.asked.push({
      verb,
      resource: [group, resource?.plural ?? request.path, subresource].filter(Boolean).join("/"),
      namespace,
      name,
      query: request.query ?? {},
      userAgent: request.userAgent ?? "",
      status: answer.status,
      body: request.body,
    });
    return answer;
  }

  #groups(): Answer {
    const versions = this.store.resources.map(({ apiVersion }) => apiVersion.split("/"));
    const named = versions.flatMap(([group, version]) => (version === undefined ? [] : [group]));
    const groups = [...new Set(named)].map((name) => ({ name }));
    return { status: 200, body: { kind: "APIGroupList", apiVersion: "v1", groups } };
  }

  #served(request: ApiRequest, verb: string, address: Address): Answer {
    const { accept = "" } = request;
    const body = (request.body ?? {}) as Body;
    const query = new URLSearchParams(request.query);
    const manager = query.get("fieldManager") ?? request.userAgent ?? "";
    const options = { manager, dryRun: query.get("dryRun") === "All" };
    if (address.subresource !== "eviction" && verb !== "delete") expectKind(address, body);
    switch (verb) {
      case "get":
        return { status: 200, body: shown(this.store.get(address), accept) };
      case "list":
        return { status: 200, body: this.#list(address, query, accept) };
      case "watch":
        return { status: 200, follow: this.#watch(address, query, accept) };
      case "create":
        if (address.subresource === "eviction")
          return this.#evict(address, body["deleteOptions"] ?? {});
        return { status: 201, body: this.store.create(address, body, options) };
      case "update":
        return { status: 200, body: this.store.replace(address, body, options) };
      case "patch": {
        if (request.type === "application/merge-patch+json")
          return { status: 200, body: this.store.patch(address, body, options) };
        const force = query.get("force") === "true";
        const status = this.store.has(address) ? 200 : 201;
        return { status, body: this.store.apply(address, body, { ...options, force }) };
      }
      case "delete":
        return { status: 200, body: this.store.remove(address, body as DeleteOptions) };
      default:
        throw refuse(
          405,
          "MethodNotAllowed",
          "the server does not allow this method on the requested resource",
        );
    }
  }

  #evict(address: Address, deleteOptions: DeleteOptions): Answer {
    this.store.remove(address, deleteOptions);
    return { status: 201, body: { kind: "Status", apiVersion: "v1", status: "Success" } };
  }

  #list(address: Address, query: URLSearchParams, accept: string): object {
    const limit = Number(query.get("limit")) || Number.POSITIVE_INFINITY;
    const page = this.store.list(address, picksOf(query), limit, query.get("continue") ?? "");
    const metadata = {
      resourceVersion: page.version,
      ...(page.next === undefined ? {} : { continue: page.next }),
    };
    if (accept.includes("as=Table")) return tableOf(page.items, metadata);
    if (accept.includes("as=PartialObjectMetadataList")) {
      const items = page.items.map((object) => partial(object));
      return { ...meta("PartialObjectMetadataList"), metadata, items };
    }
    const { apiVersion, kind } = address.resource;
    const items = page.items.map((object) => listed(object));
    return { kind: `${kind}List`, apiVersion, metadata, items };
  }

  /** The lines of a watch. A watch from a version that is too old gets one line of type ERROR. */
  #watch(
    address: Address,
    query: URLSearchParams,
    accept: string,
  ): (line: (text: string) => void) => () => void {
    const picks = picksOf(query);
    return (line) => {
      const send = (type: string, object: object) => line(`${JSON.stringify({ type, object })}\n`);
      const each = (change: Change) => {
        const event = eventOf(change, address, picks);
        if (event !== undefined) send(event.type, shown(event.object, accept));
      };
      try {
        let from = Number(query.get("resourceVersion"));
        if (from === 0) {
          const { items, version } = this.store.list(address, picks);
          for (const object of items) send("ADDED", shown(object, accept));
          from = Number(version);
        }
        return this.store.watch(from, each);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        send("ERROR", error.body);
        return () => {};
      }
    };
  }
}

/** Refuses an object that states another kind than that of the request's path. */
function expectKind({ resource }: Address, body: Body): void {
  for (const field of ["apiVersion", "kind"] as const) {
    if (![undefined, resource[field]].includes(body[field] as string | undefined))
      throw refuse(400, "BadRequest", `the object's ${field} is not ${resource[field]}`);
  }
}

/**
 * A change as a watch of this collection shows it. The watch shows an object as added when it
 * starts to match the selector, and as deleted when it stops.
 */
function eventOf(
  change: Change,
  watched: Address,
  picks: Picks,
): { type: string; object: Stored } | undefined {
  const { address, object, before, type } = change;
  if (address.resource !== watched.resource) return undefined;
  if (watched.namespace !== "" && address.namespace !== watched.namespace) return undefined;
  const [was, is] = [before !== undefined && picks(before), type !== "DELETED" && picks(object)];
  if (!was && !is) return undefined;
  return { type: is ? (was ? "MODIFIED" : "ADDED") : "DELETED", object };
}

/** Removes the kind, which items of a list do not have. */
function listed(object: Stored): object {
  const { apiVersion: _, kind: __, ...item } = object;
  return item;
}

const meta = (kind: string) => ({ kind, apiVersion: "meta.k8s.io/v1" });
const partial = ({ metadata }: Stored): object => ({ ...meta("PartialObjectMetadata"), metadata });
const shown = (object: Stored, accept: string): object =>
  accept.includes("as=PartialObjectMetadata") ? partial(object) : object;

/** The rows of a Table, without their objects. A row has only the name. */
function tableOf(items: readonly Stored[], metadata: object): object {
  const rows = items.map((object) => ({ cells: [object.metadata.name] }));
  return { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata, rows };
}

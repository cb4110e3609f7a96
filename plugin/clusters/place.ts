/** Finds the path under which a cluster's API server serves an object, by API discovery. */
import { setTimeout as pause } from "node:timers/promises";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Misuse, Refused } from "../terminal/io.ts";
import type { Manifest } from "./manifests.ts";

type Resource = Readonly<{ name: string; kind: string; namespaced: boolean }>;
type Group = Readonly<{ versions?: readonly Readonly<{ groupVersion: string }>[] }>;
type Resources = Readonly<{ resources?: readonly Resource[] }>;

/**
 * Maximum number of attempts to find the kind of a new CRD. An API server serves the kind after
 * about a second.
 */
const attempts = 40;
const pauseMilliseconds = 250;

export type Place = Readonly<{
  path: string;
  group: string;
  resource: string;
  namespace?: string;
  name: string;
}>;

export class Places {
  readonly #cluster: Cluster;
  readonly #known = new Map<string, readonly Resource[]>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /**
   * The object's path. If the kind is namespaced and the object names no namespace, we use
   * `default`. With `wait`, we wait up to 10 s for the kind, because its CRD might be new. Throws
   * Refused if the API server does not serve the kind.
   */
  async of(manifest: Manifest, wait: boolean): Promise<Place> {
    const { apiVersion, kind } = manifest;
    for (let attempt = 1; ; attempt += 1) {
      const place = await this.find(manifest);
      if (place !== undefined) return place;
      if (!wait || attempt === attempts)
        throw new Refused(`${apiVersion} ${kind}: is not served; apply its CRD first`);
      this.#known.delete(apiVersion);
      await pause(pauseMilliseconds);
    }
  }

  /** The object's path. Undefined if the API server does not serve the object's kind. */
  async find({ apiVersion, kind, metadata }: Manifest): Promise<Place | undefined> {
    const resource = (await this.#resources(apiVersion)).find(
      (candidate) => candidate.kind === kind && !candidate.name.includes("/"),
    );
    if (resource === undefined) return undefined;
    const { name } = metadata;
    const namespace = resource.namespaced ? (metadata.namespace ?? "default") : undefined;
    const [group = "", version] = apiVersion.split("/");
    const base = version === undefined ? `/api/${group}` : `/apis/${apiVersion}`;
    const where = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    const path = `${base}${where}/${resource.name}/${encodeURIComponent(name)}`;
    const its = { path, resource: resource.name, name };
    const place = { ...its, group: version === undefined ? "" : group };
    return namespace === undefined ? place : { ...place, namespace };
  }

  /** Another apiVersion in which the API server serves the kind. Undefined if there is none. */
  async otherwise({ apiVersion, kind }: Manifest): Promise<string | undefined> {
    if (!apiVersion.includes("/")) return "a kind that is served";
    const [group] = apiVersion.split("/");
    const apiGroup = await this.#cluster.get<Group>(`/apis/${group}`);
    for (const { groupVersion } of apiGroup?.versions ?? []) {
      const resources = await this.#resources(groupVersion);
      if (resources.some((resource) => resource.kind === kind)) return groupVersion;
    }
    return undefined;
  }

  async #resources(apiVersion: string): Promise<readonly Resource[]> {
    const cached = this.#known.get(apiVersion);
    if (cached !== undefined) return cached;
    if (!/^[-a-z0-9.]+(?:\/[a-z0-9]+)?$/.test(apiVersion)) return [];
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const resources = (await this.#cluster.get<Resources>(path))?.resources ?? [];
    this.#known.set(apiVersion, resources);
    return resources;
  }
}

/** An object in the output of `fleet apply` and `fleet delete`, such as `deployments.apps/web`. */
export function labelOf({ group, resource, name, namespace = "" }: Place) {
  return { object: `${resource}${group === "" ? "" : `.${group}`}/${name}`, namespace };
}

/** Why an object could not be applied, for the object's line of output. */
export function whyNot(error: unknown): string {
  if (error instanceof Refused || error instanceof Misuse) return error.message;
  if (error instanceof ApiError) return error.message.replace(/^\w+ \S+: /, "");
  throw error;
}

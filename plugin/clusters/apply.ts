/** Applies manifests to one cluster, or compares them with the objects there. */
import { isDeepStrictEqual } from "node:util";
import type { KubernetesObject } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import { Refused } from "../terminal/io.ts";
import type { Manifest } from "./manifests.ts";
import { labelOf, Places, whyNot } from "./place.ts";
import type { Named } from "./profile.ts";

export type Outcome = Readonly<{
  /** The object's name, such as `deployments.apps/web`. */
  object: string;
  namespace: string;
  state: "created" | "changed" | "unchanged" | "there" | "missing" | "differs" | "failed";
  why?: string;
}>;

/**
 * Applies one object after the other. If one fails, we still apply the others. With `check`, only
 * compares, and writes nothing.
 */
export async function applyTo(
  cluster: Cluster,
  manifests: readonly Manifest[],
  check: boolean,
): Promise<readonly Outcome[]> {
  const places = new Places(cluster);
  const defined = new Set(manifests.flatMap(definedBy));
  const outcomes: Outcome[] = [];
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest;
    let label = { object: `${kind}/${metadata.name}`, namespace: metadata.namespace ?? "" };
    try {
      // If these manifests contain the CRD of this kind, we wait until the API server serves the
      // kind. This takes a moment after the CRD is applied.
      const wait = !check && defined.has(`${apiVersion.split("/")[0]} ${kind}`);
      const place = await places.of(manifest, wait);
      label = labelOf(place);
      const state = check
        ? await held(cluster, place.path, manifest)
        : await applied(cluster, place.path, manifest);
      outcomes.push({ ...label, state });
    } catch (error) {
      const state = check && isMissing(error) ? "missing" : "failed";
      outcomes.push({ ...label, state, why: whyNot(error) });
    }
  }
  return outcomes;
}

async function applied(cluster: Cluster, path: string, body: Manifest): Promise<Outcome["state"]> {
  const before = await cluster.get<Named>(path, { as: "metadata" });
  const after = await cluster.apply<Named>(path, marked(body, before), {
    manager,
    force: false,
  });
  if (before === undefined) return "created";
  const same = before.metadata?.resourceVersion === after.metadata?.resourceVersion;
  return same ? "unchanged" : "changed";
}

/**
 * Applies the object in a dry run, and compares the result with the live object. The result and the
 * live object both contain the fields of other managers too.
 */
async function held(cluster: Cluster, path: string, body: Manifest): Promise<Outcome["state"]> {
  const live = await cluster.get<KubernetesObject>(path);
  const how = { manager, force: true, dryRun: true };
  const result = await cluster.apply<KubernetesObject>(path, marked(body, live), how);
  if (live === undefined) return "missing";
  return isDeepStrictEqual(bare(live), bare(result)) ? "there" : "differs";
}

const mark = "globalpullsecret.io/applied";

/**
 * Adds an annotation to a manifest that sets no field, such as the manifest of a Namespace. Without
 * a field, the API server would not record our apply, and `fleet delete` would keep the object.
 * An object that existed before the apply gets no annotation, so `fleet delete` keeps it.
 */
function marked(body: Manifest, live: Named | undefined): Manifest {
  const { apiVersion: _, kind: __, metadata, ...fields } = body;
  const { name: ___, namespace: ____, ...more } = metadata;
  const isBare = Object.keys(fields).length + Object.keys(more).length === 0;
  const isOurs = live === undefined || live.metadata?.annotations?.[mark] !== undefined;
  if (!isBare || !isOurs) return body;
  const annotations = { [mark]: "true" };
  return { ...body, metadata: { ...metadata, annotations } as Manifest["metadata"] };
}

function bare({ metadata = {}, ...rest }: KubernetesObject): object {
  const { managedFields: _, resourceVersion: __, generation: ___, ...fields } = metadata;
  return { ...rest, metadata: fields };
}

/** Whether the dry run failed because the object's namespace or kind does not exist. */
const isMissing = (error: unknown): boolean =>
  error instanceof Refused || (error instanceof ApiError && error.status === 404);

type Definition = Readonly<{ spec?: { group?: string; names?: { kind?: string } } }>;

function definedBy(manifest: Manifest): readonly string[] {
  if (manifest.kind !== "CustomResourceDefinition") return [];
  const { spec } = manifest as Definition;
  return [`${spec?.group} ${spec?.names?.kind}`];
}

export const isGood = ({ state }: Outcome): boolean =>
  state !== "failed" && state !== "missing" && state !== "differs";

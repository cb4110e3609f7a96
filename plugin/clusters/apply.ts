/** Applies manifests to one cluster. */
import type { Cluster } from "#kube/client/cluster.ts";
import { pluginManager as manager } from "#kube/client/ownership.ts";
import type { Manifest } from "./manifests.ts";
import { labelOf, Places, whyNot } from "./place.ts";
import type { Named } from "./profile.ts";

export type Outcome = Readonly<{
  /** The object's name, such as `deployments.apps/web`. */
  object: string;
  namespace: string;
  state: "created" | "changed" | "unchanged" | "failed";
  why?: string;
}>;

/** Applies one object after the other. If one fails, we still apply the others. */
export async function applyTo(
  cluster: Cluster,
  manifests: readonly Manifest[],
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
      const wait = defined.has(`${apiVersion.split("/")[0]} ${kind}`);
      const place = await places.of(manifest, wait);
      label = labelOf(place);
      outcomes.push({ ...label, state: await applied(cluster, place.path, manifest) });
    } catch (error) {
      outcomes.push({ ...label, state: "failed", why: whyNot(error) });
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

type Definition = Readonly<{ spec?: { group?: string; names?: { kind?: string } } }>;

function definedBy(manifest: Manifest): readonly string[] {
  if (manifest.kind !== "CustomResourceDefinition") return [];
  const { spec } = manifest as Definition;
  return [`${spec?.group} ${spec?.names?.kind}`];
}

export const isGood = ({ state }: Outcome): boolean => state !== "failed";

/**
 * The fields of our objects that no admission policy or webhook may change. Admission is allowed to
 * change every other field, because the cluster's administrator might want a cached image, a
 * toleration or a proxy's address in every pod.
 */
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import { differing } from "./difference.ts";

/**
 * Admission changes a field that it must not change. We write nothing until admission stops that.
 * The run is retried like any other failed run.
 */
export class AdmissionError extends Error {
  /** The object, as `daemonsets/global-pull-secret-syncer`. */
  readonly object: string;
  /** Paths of the fields; never a value. */
  readonly fields: readonly string[];

  constructor(path: string, fields: readonly string[]) {
    const object = path.split("/").slice(-2).join("/");
    super(
      `admission changes ${fields.slice(0, 3).join(", ")} of ${object}: exempt this object from that policy or webhook`,
    );
    this.object = object;
    this.fields = fields;
  }
}

/**
 * Throws if `result`, the API server's result for `declared`, lacks a field that must not be
 * changed.
 */
export function demand(path: string, declared: KubernetesObject, result: KubernetesObject): void {
  const { kind } = declared;
  const fields =
    kind === "DaemonSet"
      ? differing(result, daemonSetDemands(declared), "named")
      : differing(result, otherDemands(declared));
  if (fields.length > 0) throw new AdmissionError(path, fields);
}

/**
 * For objects with credentials or rights: all fields except metadata. Other programs may change
 * metadata, and admission may as far as our own policies allow it (lib/contract/own-metadata.ts).
 */
function otherDemands(declared: KubernetesObject): object {
  return Object.fromEntries(Object.entries(declared).filter(([key]) => key !== "metadata"));
}

/**
 * Only our own annotations. Admission may change all other annotations, which the installer sets.
 */
function ours(annotations: Readonly<Record<string, string>>): object {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name.startsWith("globalpullsecret.io/")),
  );
}

/**
 * The fields that let an agent follow its order and report, and that limit how many pods the
 * DaemonSet controller replaces at a time.
 */
function daemonSetDemands({ spec }: V1DaemonSet): object {
  if (spec === undefined) return {};
  const { metadata, spec: pod } = spec.template;
  const { hostNetwork, volumes, containers = [] } = pod ?? {};
  return {
    spec: {
      minReadySeconds: spec.minReadySeconds,
      updateStrategy: spec.updateStrategy,
      template: {
        metadata: { annotations: metadata?.annotations && ours(metadata.annotations) },
        spec: {
          hostNetwork,
          volumes,
          containers: containers.map(({ name, command, args, env, volumeMounts }) => ({
            name,
            command,
            args,
            env,
            volumeMounts,
          })),
        },
      },
    },
  };
}

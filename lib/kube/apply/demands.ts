/**
 * What must arrive as we declare it, whatever other people's admission changes. Everything else is
 * theirs: a cached image, a toleration, a proxy's address are what the cluster's administrator
 * wants of every pod.
 */
import type { KubernetesObject, V1DaemonSet } from "@kubernetes/client-node";
import { revisionAnnotation } from "#contract/names.ts";
import { differing } from "./difference.ts";

/**
 * Admission changes what it must not. Nothing is written until it stops doing so; the run is
 * retried like any other that failed.
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
 * Throws when `made`, which the API server made of `declared`, lacks a field that must not be
 * changed.
 */
export function demand(path: string, declared: KubernetesObject, made: KubernetesObject): void {
  const { kind } = declared;
  const fields =
    kind === "DaemonSet"
      ? differing(made, daemonSetDemands(declared), "named")
      : differing(made, otherDemands(declared));
  if (fields.length > 0) throw new AdmissionError(path, fields);
}

/** Credentials and rights, as a whole. Labels and annotations may be changed by others. */
function otherDemands(declared: KubernetesObject): object {
  return Object.fromEntries(Object.entries(declared).filter(([key]) => key !== "metadata"));
}

/**
 * Our annotations only. The installer's may be changed by others, like all that is the installer's.
 */
function ours(annotations: Readonly<Record<string, string>>): object {
  const domain = revisionAnnotation.slice(0, revisionAnnotation.indexOf("/") + 1);
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name.startsWith(domain)),
  );
}

/**
 * The fields that let an agent find its grant and prove it, and that keep the DaemonSet controller
 * from replacing pods by itself.
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
          containers: containers.map(
            ({ name, command, args, env, readinessProbe, volumeMounts }) => ({
              name,
              command,
              args,
              env,
              readinessProbe,
              volumeMounts,
            }),
          ),
        },
      },
    },
  };
}

/** Finds pods and workloads by names such as `deploy/web` and `pod/web-0`. */
import type { V1LabelSelector, V1ObjectMeta, V1PodSpec } from "@kubernetes/client-node";
import { Wrong } from "#contract/values.ts";

type Kind = Readonly<{ kind: string; group: string; resource: string; names: readonly string[] }>;

const kinds: readonly Kind[] = [
  { kind: "Pod", group: "api/v1", resource: "pods", names: ["po", "pod"] },
  { kind: "Deployment", group: "apis/apps/v1", resource: "deployments", names: ["deploy"] },
  { kind: "DaemonSet", group: "apis/apps/v1", resource: "daemonsets", names: ["ds"] },
  { kind: "StatefulSet", group: "apis/apps/v1", resource: "statefulsets", names: ["sts"] },
  { kind: "ReplicaSet", group: "apis/apps/v1", resource: "replicasets", names: ["rs"] },
  { kind: "Job", group: "apis/batch/v1", resource: "jobs", names: [] },
  { kind: "CronJob", group: "apis/batch/v1", resource: "cronjobs", names: ["cj"] },
];

/** An object of the cluster that a command line names. */
export type NamedObject = Readonly<{ kind: Kind; name: string }>;

/** The fields that we read of a pod, or of an object that has pods. */
export type PodOwner = Readonly<{
  kind?: string;
  metadata?: V1ObjectMeta;
  spec?: Readonly<{
    selector?: V1LabelSelector;
    template?: Readonly<{ spec?: V1PodSpec }>;
    jobTemplate?: Readonly<{ spec?: Readonly<{ template?: Readonly<{ spec?: V1PodSpec }> }> }>;
  }>;
}>;

/**
 * Reads TYPE/NAME. Undefined if TYPE is not a type of Kubernetes, or if a tag, a digest or a longer
 * path shows that the text is an image. `pod/web` means the pod `web`. For the image `web` of
 * Docker Hub's user `pod`, users write docker.io/pod/web.
 */
export function namedObject(text: string): NamedObject | Wrong | undefined {
  const [, type = "", name = ""] = /^([a-z]+)\/([^/:@]*)$/.exec(text) ?? [];
  const kind = kinds.find(({ resource, names, kind: kindName }) =>
    [resource, kindName.toLowerCase(), ...names].includes(type),
  );
  if (kind === undefined) return undefined;
  if (/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(name)) return { kind, name };
  return new Wrong("is not the name of an object; give TYPE/NAME such as deploy/web");
}

export const pathOf = ({ kind, name }: NamedObject, namespace: string): string =>
  `${collectionOf(kind, namespace)}/${name}`;

const collectionOf = ({ group, resource }: Kind, namespace: string): string =>
  `/${group}/namespaces/${namespace}/${resource}`;

/** The spec of the object's pods. */
export function podSpecOf(object: PodOwner): V1PodSpec | undefined {
  if (object.kind === "Pod") return object.spec as V1PodSpec | undefined;
  const { template, jobTemplate } = object.spec ?? {};
  return (template ?? jobTemplate?.spec?.template)?.spec;
}

/** A selector as a request's parameter. */
export function selectorText({ matchLabels, matchExpressions }: V1LabelSelector): string {
  const equal = Object.entries(matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const each = (matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
  });
  return [...equal, ...each].join(",");
}

/**
 * A copy: an object that we make exist in another cluster as we declare it. The fleet's program and
 * the tenants' programs make copies. We compare a digest instead of the content, so that no content
 * stays in memory for each cluster. Pure.
 */
import { createHash } from "node:crypto";
import type { KubernetesObject, V1ObjectMeta, V1OwnerReference } from "@kubernetes/client-node";
import { isFields } from "#contract/fields.ts";
import type { ApiError } from "#kube/client/api-error.ts";
import { contains } from "./difference.ts";

/** Key → standard base64, padded, without line breaks: the form in which a Secret is stored. */
export type Data = Readonly<Record<string, string>>;

/** The fields that we write, all of them ours. */
export type Declared = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{
    name: string;
    namespace: string;
    labels: Readonly<Record<string, string>>;
    annotations: Readonly<Record<string, string>>;
    ownerReferences?: V1OwnerReference[];
  }>;
  type?: string;
  data?: Data;
  immutable?: boolean;
  spec?: object;
}>;

export type Desired = Readonly<{ body: Declared; digest: string }>;

/** What we keep of a copy that exists. */
export type LiveCopy = KubernetesObject &
  Readonly<{
    type?: string;
    immutable?: boolean;
    digest: string;
    /** Names of keys in data. Absent if there are more than we keep, or no data. */
    keys?: readonly string[];
  }>;

/** How many names of keys we keep. */
const mostKeys = 100;

/** For JSON.stringify: puts the keys of objects in order, so that the same value has one text. */
export const inOrder = (_key: string, value: unknown): unknown =>
  isFields(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([key], [other]) => (key < other ? -1 : 1)))
    : value;

/** Identifies content. In memory only: the digest of a Secret must not leave the process. */
export const digestOf = (content: unknown): string =>
  createHash("sha256").update(JSON.stringify(content, inOrder)).digest("base64");

export const contentDigest = (type = "Opaque", data: Data = {}): string => digestOf([type, data]);

export const desiredOf = (body: Declared): Desired => ({
  body,
  digest: contentDigest(body.type, body.data),
});

/** The digest and the keys of a Secret's or SyncSecret's content. */
export function contentFields(type?: string, data: Data = {}): Pick<LiveCopy, "digest" | "keys"> {
  const keys = Object.keys(data);
  return { digest: contentDigest(type, data), ...(keys.length <= mostKeys ? { keys } : {}) };
}

type Stored = KubernetesObject &
  Readonly<{ type?: string; immutable?: boolean; data?: Data; stringData?: Data }>;

/** A Secret or SyncSecret as the API server returned it, with a digest instead of its data. */
export function liveCopy({ data, stringData = {}, ...rest }: Stored): LiveCopy {
  const content = contentFields(rest.type, data);
  // Our copies have no stringData, so it is a change by another client.
  return Object.keys(stringData).length === 0
    ? { ...rest, ...content }
    : { ...rest, ...content, digest: "" };
}

export type WriteStep =
  | "create"
  | "update"
  /** A field that differs cannot be changed, so we delete the object and create it again. */
  | "recreate";

export type CopyStep =
  | WriteStep
  /** The object is being deleted, and needs no update. We wait until it is gone. */
  | "wait"
  /** Another program made the object, so we do not touch it. */
  | "foreign"
  /** The object is as declared. Labels, annotations and owners that others added do not count. */
  | "nothing";

/** The next step. `isOurs`: we made the live object, even if others have edited it since. */
export function copyStep(live: LiveCopy | undefined, desired: Desired, isOurs: boolean): CopyStep {
  if (live === undefined) return "create";
  if (!isOurs) return "foreign";
  const step = stepFor(live, desired);
  return live.metadata?.deletionTimestamp !== undefined && step !== "update" ? "wait" : step;
}

function stepFor(live: LiveCopy, { body, digest }: Desired): CopyStep {
  const isImmutable = live.immutable === true;
  if (live.digest === digest) {
    // An object that others made immutable has the right content, so it stays.
    const isFixed = isImmutable || body.immutable !== true;
    return isFixed && isMarked(live.metadata ?? {}, body) ? "nothing" : "update";
  }
  const isSameType = (live.type ?? "Opaque") === (body.type ?? "Opaque");
  // A patch removes a key by its name. Content other than data, a spec, has immutable fields.
  const canChange = !isImmutable && isSameType && live.keys !== undefined;
  return canChange ? "update" : "recreate";
}

export const isWrite = (step: CopyStep): step is WriteStep =>
  ["create", "update", "recreate"].includes(step);

const isMarked = (live: V1ObjectMeta, { metadata }: Declared): boolean => {
  const { labels, annotations, ownerReferences = [] } = metadata;
  const owners = live.ownerReferences ?? [];
  return (
    contains(live, { labels, annotations }) &&
    ownerReferences.every((ours) => owners.some((owner) => contains(owner, ours)))
  );
};

/**
 * The merge patch for an update. It keeps the metadata that others added, but not the content that
 * they added.
 */
export function copyPatch({ metadata, keys = [] }: LiveCopy, { body }: Desired) {
  const { uid = "", resourceVersion = "", ownerReferences = [] } = metadata ?? {};
  const ours = body.metadata.ownerReferences;
  const others = ownerReferences.filter((owner) => !ours?.some((own) => own.uid === owner.uid));
  return {
    ...body,
    metadata: {
      ...body.metadata,
      ...(ours === undefined ? {} : { ownerReferences: [...others, ...ours] }),
      uid,
      resourceVersion,
    },
    ...(body.data && {
      data: { ...Object.fromEntries(keys.map((key) => [key, null])), ...body.data },
      stringData: null,
    }),
  };
}

/**
 * What a failed write means. `conflict`: read again. `denied`: our credential is refused. `away`:
 * no decision about the request. `invalid`: the content itself is rejected. `refused`: the reason
 * lies in the cluster, such as its rights, a missing namespace, or a denial by admission.
 */
export type WriteFailure = "conflict" | "denied" | "away" | "invalid" | "refused";

export function writeFailure({ status, isDenial }: ApiError): WriteFailure {
  if (status === 409) return "conflict";
  if (status === 401) return "denied";
  if (status === 0 || status >= 500 || [408, 429].includes(status)) return "away";
  return [400, 413, 422].includes(status) && !isDenial ? "invalid" : "refused";
}

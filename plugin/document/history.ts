/**
 * The documents of a source that the cluster still has: the one in its Secret, the last one that
 * the controller accepted, and the one that joining nodes get during a rollout.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import {
  additionalSecretName,
  secretKeys,
  secretType,
  servedKeys,
  sourceIds,
  stateSourcePrefix,
} from "#contract/names.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { isOurs } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";
import { parse, type Entry } from "#pullsecret/document/parse.ts";
import { isEmptied, judgeSecret, partsOf } from "#pullsecret/document/secret.ts";
import { canonical, readSources } from "#pullsecret/merge/canonical.ts";
import { imagesOf } from "#pullsecret/registry/key.ts";
import { secretPath, type SourceSecret } from "../cluster/object.ts";
import { differenceOf } from "./difference.ts";

export type Revision = Readonly<{
  /**
   * - `deleted`, `emptied`: the Secret does not exist, or has no registries
   * - `refused`: the Secret's document is refused
   * - `pending`: the controller has not accepted the Secret's document yet
   * - `newest`: the last accepted document
   * - `served`: joining nodes get it
   */
  state: "deleted" | "emptied" | "refused" | "pending" | "newest" | "served";
  /** When the Secret was written, or the content published. Empty if this is unknown. */
  time: string;
  document: Uint8Array;
  entries: readonly Entry[];
}>;

/** The Secret, and the documents that the cluster has, the newest first. */
export type History = Readonly<{ live: V1Secret | undefined; revisions: readonly Revision[] }>;

/** Reads the history of a source. Needs the right to get its Secret and both of our Secrets. */
export async function historyOf(
  cluster: Cluster,
  object: GlobalPullSecret | undefined,
  source: SourceSecret,
): Promise<History> {
  const [live, ...kept] = await Promise.all(
    [secretPath(source.secret), owned.state, owned.global].map((path) =>
      cluster.get<V1Secret>(path),
    ),
  );
  // The controller uses no Secret that someone else created under one of our names.
  const [state, global] = kept.map((secret) => (isOurs(secret?.metadata) ? secret : undefined));
  const id = source.source === additionalSecretName ? sourceIds.additional : source.source;
  const accepted = acceptedIn(state, global, id);
  const served = servedIn(global, id, accepted?.entries);
  const present = live && presentIn(live, object, source);
  const isAccepted =
    present !== undefined && accepted !== undefined && hasSameMeaning(present, accepted);
  const first = isAccepted ? { ...accepted, time: present.time } : accepted;
  const absent = { state: "deleted", time: "", document: Buffer.alloc(0), entries: [] } as const;
  const revisions = [
    ...(isAccepted || (present === undefined && accepted === undefined) ? [] : [present ?? absent]),
    ...(first === undefined ? [] : [first]),
    ...(served === undefined || (accepted !== undefined && hasSameMeaning(served, accepted))
      ? []
      : [served]),
  ];
  return { live, revisions };
}

/** Documents of which each credential serves the same images. */
function hasSameMeaning(revision: Revision, other: Revision): boolean {
  const { added, changed, removed } = differenceOf(revision.entries, other.entries);
  return revision.entries.length > 0 && added.length + changed.length + removed.length === 0;
}

function presentIn(
  live: V1Secret,
  object: GlobalPullSecret | undefined,
  { source, secret }: SourceSecret,
): Revision {
  const parts = partsOf(live);
  const judged = judgeSecret(parts, { name: secret, role: "additional" });
  const status = object?.status?.sources?.find(({ name }) => name === source);
  const isRefused =
    !judged.ok ||
    (status?.accepted === "False" && status.resourceVersion === live.metadata?.resourceVersion);
  const times = (live.metadata?.managedFields ?? []).map(({ time }) => String(time ?? ""));
  return {
    state: isEmptied(parts) ? "emptied" : isRefused ? "refused" : "pending",
    // On the wire, times are texts that sort by time, although the client's types declare dates.
    time: times.toSorted().at(-1) ?? "",
    document: parts.document ?? Buffer.alloc(0),
    entries: judged.ok ? judged.entries : [],
  };
}

/** The last accepted document, from the controller's state. */
function acceptedIn(
  state: V1Secret | undefined,
  global: V1Secret | undefined,
  id: string,
): Revision | undefined {
  const value = state?.data?.[stateSourcePrefix + id];
  if (value === undefined) return undefined;
  const document = Buffer.from(value, "base64");
  const judged = judgeSecret({ type: secretType, document }, { name: id, role: "additional" });
  if (!judged.ok || judged.entries.length === 0) return undefined;
  const revision = textOf(global, secretKeys.revision);
  const isServed = textOf(global, servedKeys.revision) === revision;
  return {
    state: isServed ? "served" : "newest",
    time: timeOf(revision),
    document,
    entries: judged.entries,
  };
}

/**
 * The part of the served content that is of this source. It lacks the registries that newer content
 * has removed. If another source has the same credential for a registry, the content names only one
 * of the two, so we also take the credentials that are in the accepted document.
 */
function servedIn(
  global: V1Secret | undefined,
  id: string,
  accepted: readonly Entry[] = [],
): Revision | undefined {
  const revision = textOf(global, servedKeys.revision);
  const suppliers = readSources(textOf(global, servedKeys.sources));
  const content = Buffer.from(textOf(global, servedKeys.document));
  const parsed = parse(content, { name: id, role: "original" });
  const isAccepted = ({ registry, credential }: Entry) =>
    accepted.some(
      (entry) =>
        imagesOf(entry.registry) === imagesOf(registry) && entry.credential.equals(credential),
    );
  const entries = (parsed.ok ? parsed.entries : []).filter(
    (entry) => suppliers[entry.registry] === id || isAccepted(entry),
  );
  if (entries.length === 0) return undefined;
  const document = Buffer.from(canonical({ entries, rest: {} }));
  return { state: "served", time: timeOf(revision), document, entries };
}

const textOf = (secret: V1Secret | undefined, key: string): string =>
  Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");

/** A revision is at least the number of seconds since 1970 at its publication. */
function timeOf(revision: string): string {
  const seconds = /^[1-9]\d{8,10}$/.test(revision) ? Number(revision) : undefined;
  return seconds === undefined ? "" : new Date(seconds * 1000).toISOString().replace(".000", "");
}

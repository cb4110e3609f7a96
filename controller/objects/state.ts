/**
 * global-pull-secret-state: what we must remember and no other object tells. No node mounts it. It
 * is created before all other objects and deleted after them.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { type RevisionContent, namespace, sourceIds, stateSecretName } from "#contract/names.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { ownerLabels, stateManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";

export type RememberedState = Readonly<{
  /**
   * Source id → its last accepted document, or an earlier one with the same meaning. It is used
   * when the source is refused, unknown or missing.
   */
  accepted: Readonly<Record<string, string>>;
  /** The last revision that every living node had. */
  served: Served | undefined;
  /**
   * What is known of a halted revision: any JSON. It is validated when read, because people can
   * write here as well.
   */
  halted: unknown;
  /** Source id → when its Secret was first seen to be absent; only while it is absent. */
  absentSince: ReadonlyMap<string, Date>;
  /** The spec of GlobalPullSecret that was last in force: any JSON, validated when read. */
  policy: unknown;
  /** The uid of the object that named the sources in that spec. */
  sourcesFrom: string | undefined;
}>;

/**
 * The content of a revision of global-pull-secret; `sources` is its JSON text. `registered`: how
 * kubelets were told of our provider, as long as they need no restart for another answer of it.
 */
type Served = RevisionContent & Readonly<{ revision: number; registered?: string | undefined }>;

/** A state in which nothing is remembered. */
export const noState: RememberedState = {
  accepted: {},
  served: undefined,
  halted: undefined,
  absentSince: new Map(),
  policy: undefined,
  sourcesFrom: undefined,
};

/**
 * Keys of the Secret. The served document has one of its own: as text inside JSON its quotes would
 * be escaped, and 480 KiB of it could double.
 */
const keys = {
  source: "source.",
  served: "served",
  servedDocument: "served.document",
  servedSources: "served.sources",
  halted: "halted",
  /** The additional Secret's; another source's has `.ID` appended. */
  absentSince: "absent-since",
  policy: "policy",
  sourcesFrom: "policy.sources-from",
} as const;

const absentKey = (id: string) =>
  id === sourceIds.additional ? keys.absentSince : `${keys.absentSince}.${id}`;

/** Reads the Secret. Never throws: whatever is malformed reads as absent. */
export function readState(secret: V1Secret | undefined): RememberedState {
  const text = (key: string) => decode(secret?.data?.[key]);
  // A source may be called `constructor`, so nothing may be found in a prototype.
  const accepted = Object.create(null) as Record<string, string>;
  const absentSince = new Map<string, Date>();
  for (const [key, value] of Object.entries(secret?.data ?? {})) {
    const said = decode(value) ?? "";
    if (key.startsWith(keys.source)) accepted[key.slice(keys.source.length)] = said;
    const id = absentId(key);
    const since = new Date(said);
    if (id !== undefined && !Number.isNaN(since.getTime())) absentSince.set(id, since);
  }
  return {
    accepted,
    served: readServed(
      json(text(keys.served)),
      text(keys.servedDocument),
      text(keys.servedSources),
    ),
    halted: json(text(keys.halted)),
    absentSince,
    policy: json(text(keys.policy)),
    sourcesFrom: text(keys.sourcesFrom),
  };
}

/**
 * Makes the Secret hold this state, and returns it as it is then. Nothing is sent when nothing
 * changed. A new Secret is only ever created, never taken over from somebody who made it in the
 * same instant; an existing one is changed only in the version that was seen.
 */
export async function writeState(
  cluster: Cluster,
  live: V1Secret | undefined,
  state: RememberedState,
): Promise<V1Secret> {
  const declared = stateSecret(state);
  const born = { ...declared, metadata: { ...declared.metadata, resourceVersion: newborn } };
  if (live === undefined)
    return cluster.apply(owned.state, born, { manager: stateManager, force: false });
  if (isSame(live, declared)) return live;
  const { uid, resourceVersion } = live.metadata ?? {};
  if (live.immutable === true) {
    // Somebody made it immutable, which no apply can undo.
    await cluster.remove(owned.state, uid ?? "", resourceVersion);
    return cluster.apply(owned.state, born, { manager: stateManager, force: false });
  }
  const body = { ...declared, metadata: { ...declared.metadata, uid, resourceVersion } };
  return cluster.apply(owned.state, body, { manager: stateManager, force: true });
}

/** The Secret as we declare it. */
export function stateSecret(state: RememberedState): V1Secret {
  const { accepted, served, halted, absentSince, policy, sourcesFrom } = state;
  const data: Record<string, string> = {};
  for (const [source, document] of Object.entries(accepted))
    data[keys.source + source] = encode(document);
  if (served !== undefined) {
    data[keys.served] = encode(
      JSON.stringify({
        revision: served.revision,
        intent: served.intent,
        registered: served.registered,
      }),
    );
    data[keys.servedDocument] = encode(served.document);
    data[keys.servedSources] = encode(served.sources);
  }
  if (halted !== undefined) data[keys.halted] = encode(JSON.stringify(halted));
  for (const [id, since] of absentSince) data[absentKey(id)] = encode(since.toISOString());
  if (policy !== undefined) data[keys.policy] = encode(JSON.stringify(policy));
  if (sourcesFrom !== undefined) data[keys.sourcesFrom] = encode(sourcesFrom);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: stateSecretName, namespace, labels: { ...ownerLabels } },
    type: "Opaque",
    data,
  };
}

/** The source whose absence this key records. */
function absentId(key: string): string | undefined {
  if (key === keys.absentSince) return sourceIds.additional;
  const prefix = `${keys.absentSince}.`;
  return key.startsWith(prefix) ? key.slice(prefix.length) : undefined;
}

const isOurKey = (key: string) =>
  key.startsWith(keys.source) ||
  absentId(key) !== undefined ||
  Object.values(keys).some((known) => known !== keys.source && known === key);

/** True when the Secret already holds this state. Keys of others stay, and are not read. */
function isSame(live: V1Secret, declared: V1Secret): boolean {
  const [before, after] = [live.data ?? {}, declared.data ?? {}];
  const names = new Set([...Object.keys(before).filter(isOurKey), ...Object.keys(after)]);
  const labels = Object.entries(ownerLabels).every(
    ([name, value]) => live.metadata?.labels?.[name] === value,
  );
  return (
    labels && live.immutable !== true && [...names].every((name) => before[name] === after[name])
  );
}

function readServed(
  value: unknown,
  document: string | undefined,
  sources: string | undefined,
): Served | undefined {
  if (
    typeof value !== "object" ||
    value === null ||
    document === undefined ||
    sources === undefined
  )
    return undefined;
  const { revision, intent, registered } = value as Record<string, unknown>;
  const known = intent === "apply" || intent === "release" || intent === "hold";
  if (!known || !Number.isSafeInteger(revision) || (revision as number) < 1) return undefined;
  return {
    revision: revision as number,
    intent,
    document,
    sources,
    ...(typeof registered === "string" && { registered }),
  };
}

function json(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

const encode = (text: string) => Buffer.from(text).toString("base64");
const decode = (value: string | undefined) =>
  value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8");

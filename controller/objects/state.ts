/**
 * global-pull-secret-state: what we must remember and no other object tells. No node mounts it. It
 * is created before all other objects and deleted after them.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { namespace, sourceIds, stateSecretName } from "#contract/names.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { ownerLabels, stateManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";

export type RememberedState = Readonly<{
  /**
   * Source id → its last accepted document, or an earlier one with the same meaning. It is used
   * when the source is refused, unknown or missing.
   */
  accepted: Readonly<Record<string, string>>;
  /** What is known of the rollout: any JSON, validated when read: people can write here as well. */
  rollout: unknown;
  /** The revision that every node had, as versions until 0.2 wrote it; they had no served slot. */
  servedBefore: number;
  /** Source id → when its Secret was first seen to be absent; only while it is absent. */
  absentSince: ReadonlyMap<string, Date>;
  /** The spec of GlobalPullSecret that was last in force: any JSON, validated when read. */
  policy: unknown;
  /** The uid of the object that named the sources in that spec. */
  sourcesFrom: string | undefined;
  /** The kubelet directory where a node first proved content, until all of it is withdrawn. */
  directory: string | undefined;
}>;

/** A state in which nothing is remembered. */
export const noState: RememberedState = {
  accepted: {},
  rollout: undefined,
  servedBefore: 0,
  absentSince: new Map(),
  policy: undefined,
  sourcesFrom: undefined,
  directory: undefined,
};

/** Keys of the Secret. */
const keys = {
  source: "source.",
  rollout: "rollout",
  /** The additional Secret's; another source's has `.ID` appended. */
  absentSince: "absent-since",
  policy: "policy",
  sourcesFrom: "policy.sources-from",
  directory: "kubelet-directory",
} as const;

/** Written until 0.2. */
const keyBefore = "served";

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
    rollout: json(text(keys.rollout)),
    servedBefore: numberBefore(json(text(keyBefore))),
    absentSince,
    policy: json(text(keys.policy)),
    sourcesFrom: text(keys.sourcesFrom),
    directory: text(keys.directory),
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
  const { accepted, rollout, servedBefore, absentSince, policy, sourcesFrom, directory } = state;
  const data: Record<string, string> = {};
  for (const [source, document] of Object.entries(accepted))
    data[keys.source + source] = encode(document);
  if (rollout !== undefined) data[keys.rollout] = encode(JSON.stringify(rollout));
  // Until the served slot has it.
  else if (servedBefore > 0) data[keyBefore] = encode(JSON.stringify({ revision: servedBefore }));
  for (const [id, since] of absentSince) data[absentKey(id)] = encode(since.toISOString());
  if (policy !== undefined) data[keys.policy] = encode(JSON.stringify(policy));
  if (sourcesFrom !== undefined) data[keys.sourcesFrom] = encode(sourcesFrom);
  if (directory !== undefined) data[keys.directory] = encode(directory);
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

const single: ReadonlySet<string> = new Set([
  keys.rollout,
  keyBefore,
  keys.policy,
  keys.sourcesFrom,
  keys.directory,
]);

const isOurKey = (key: string) =>
  key.startsWith(keys.source) || absentId(key) !== undefined || single.has(key);

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

function numberBefore(value: unknown): number {
  const { revision } = (value ?? {}) as Readonly<{ revision?: unknown }>;
  return Number.isSafeInteger(revision) && (revision as number) > 0 ? (revision as number) : 0;
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

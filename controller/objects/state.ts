/**
 * global-pull-secret-state: the data that the controller must record because no other object shows
 * it. No node mounts it. It is created before all other objects and deleted after them.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { fieldsOf } from "#contract/fields.ts";
import { namespace, stateSecretName, stateSourcePrefix } from "#contract/names.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { ownerLabels, stateManager } from "#kube/client/ownership.ts";
import { owned } from "#kube/client/paths.ts";

export type RememberedState = Readonly<{
  /**
   * Source id → its last accepted document, or an earlier document with the same meaning. The
   * controller uses this document if the source is refused, unknown or missing.
   */
  accepted: Readonly<Record<string, string>>;
  /**
   * The rollout's state. It can be any JSON, because people can edit it, and is validated when it
   * is read.
   */
  rollout: unknown;
  /** Source id → when the controller first found its Secret missing. Only for missing Secrets. */
  absentSince: ReadonlyMap<string, Date>;
  /**
   * The last spec of GlobalPullSecret in force. It can be any JSON, and is validated when it is
   * read.
   */
  policy: unknown;
  /** The uid of the GlobalPullSecret that named the sources in `policy`. */
  sourcesFrom: string | undefined;
}>;

const keys = {
  rollout: "rollout",
  absentSince: "absent-since.",
  policy: "policy",
  sourcesFrom: "policy.sources-from",
} as const;

/** Reads the Secret. Never throws. Malformed parts count as absent. */
export function readState(secret: V1Secret | undefined): RememberedState {
  const text = (key: string) => decode(secret?.data?.[key]);
  // The name of a source can be `constructor`, so the object must have no prototype.
  const accepted = Object.create(null) as Record<string, string>;
  const absentSince = new Map<string, Date>();
  for (const [key, value] of Object.entries(secret?.data ?? {})) {
    const content = decode(value) ?? "";
    if (key.startsWith(stateSourcePrefix)) accepted[key.slice(stateSourcePrefix.length)] = content;
    const id = absentId(key);
    const since = new Date(content);
    if (id !== undefined && !Number.isNaN(since.getTime())) absentSince.set(id, since);
  }
  return {
    accepted,
    rollout: json(text(keys.rollout)),
    absentSince,
    policy: json(text(keys.policy)),
    sourcesFrom: text(keys.sourcesFrom),
  };
}

/**
 * Writes this state to the Secret, and returns the result. Sends nothing if nothing changed. If
 * someone else creates the Secret at the same moment, we do not take it over. An existing Secret is
 * changed only if it still has the version that was read.
 */
export async function writeState(
  cluster: Cluster,
  live: V1Secret | undefined,
  state: RememberedState,
): Promise<V1Secret> {
  const declared = stateSecret(state);
  if (live === undefined) {
    const born = { ...declared, metadata: { ...declared.metadata, resourceVersion: newborn } };
    return cluster.apply(owned.state, born, { manager: stateManager, force: false });
  }
  if (isSame(live, declared)) return live;
  const { uid, resourceVersion } = live.metadata ?? {};
  const body = { ...declared, metadata: { ...declared.metadata, uid, resourceVersion } };
  return cluster.apply(owned.state, body, { manager: stateManager, force: true });
}

export function stateSecret(state: RememberedState): V1Secret {
  const { accepted, rollout, absentSince, policy, sourcesFrom } = state;
  const data: Record<string, string> = {};
  for (const [source, document] of Object.entries(accepted))
    data[stateSourcePrefix + source] = encode(document);
  if (rollout !== undefined) data[keys.rollout] = encode(JSON.stringify(rollout));
  for (const [id, since] of absentSince) data[keys.absentSince + id] = encode(since.toISOString());
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

/** The data of a write, without the time of the bucket, which differs in each write. */
export function withoutTimes(data: Readonly<Record<string, string>>): object {
  const { [keys.rollout]: rollout, ...others } = data;
  const { bucketUntil: _, ...lasting } = fieldsOf(json(decode(rollout)));
  return { ...others, [keys.rollout]: lasting };
}

/** The source whose absence this key records. */
const absentId = (key: string): string | undefined =>
  key.startsWith(keys.absentSince) ? key.slice(keys.absentSince.length) : undefined;

const single: ReadonlySet<string> = new Set([keys.rollout, keys.policy, keys.sourcesFrom]);

const isOurKey = (key: string) =>
  key.startsWith(stateSourcePrefix) || absentId(key) !== undefined || single.has(key);

/**
 * True when the Secret already contains this state. Other clients' keys stay and are not compared.
 */
function isSame(live: V1Secret, declared: V1Secret): boolean {
  const [before, after] = [live.data ?? {}, declared.data ?? {}];
  const names = new Set([...Object.keys(before).filter(isOurKey), ...Object.keys(after)]);
  const labels = Object.entries(ownerLabels).every(
    ([name, value]) => live.metadata?.labels?.[name] === value,
  );
  return labels && [...names].every((name) => before[name] === after[name]);
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

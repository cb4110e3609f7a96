/**
 * A cluster in which no other writer draws us into a fight. Another writer that undoes a write of
 * ours again and again would otherwise be answered at once, for ever, with agents or kubelets in
 * between. The same write is sent twenty times at once and then once a minute. In the meantime it
 * fails here, as a conflict, with the name of the other field manager.
 */
import { createHash } from "node:crypto";
import type { KubernetesObject, V1ObjectMeta } from "@kubernetes/client-node";
import { ApiError } from "./client/api-error.ts";
import type { Cluster } from "./client/cluster.ts";
import { otherManager } from "./client/ownership.ts";
import { Contest } from "./contest.ts";

/**
 * An administrator may edit an object twenty times while we repair it. More than one repair a
 * minute for ever has another writer.
 */
const writes = { perSecond: 1 / 60, atOnce: 20 };

/** An object whose content another client undoes. */
export type ContestedObject = Readonly<{
  path: string;
  /** The field manager that wrote last besides us; undefined where none is known. */
  manager: string | undefined;
}>;

/**
 * Most seconds until the caller looks again: its next write may be another one, such as a
 * withdrawal that its user asks for, and that is sent at once.
 */
const longestPause = 10;

/** The refusal of a write that would only be undone. */
export class Contested extends ApiError {
  constructor(method: string, { path, manager }: ContestedObject, seconds: number) {
    const who = manager === undefined ? "another client" : JSON.stringify(manager);
    super({
      status: 409,
      reason: "Contested",
      method,
      path,
      detail: `${who} undoes it again and again`,
      retryAfterSeconds: Math.min(seconds, longestPause),
    });
  }
}

type Fought = { contest: Contest<string>; lost: ContestedObject | undefined; wanted: string };

/**
 * The cluster with such writes, and the objects that are contested now. Applies and replacements
 * are counted. A patch is not: it is sent to one version, and what it sets differs each time.
 */
export function contested(cluster: Cluster, clock = () => performance.now()) {
  const all = new Map<string, Fought>();

  /** Each way to write is counted by itself: a repair may take an apply and a replacement. */
  async function write<T>(
    method: string,
    path: string,
    body: object,
    send: () => Promise<T>,
  ): Promise<T> {
    const wanted = essenceOf(body);
    const key = `${method} ${path}`;
    const one = all.get(key) ?? {
      contest: new Contest(writes, Object.is),
      lost: undefined,
      wanted,
    };
    all.set(key, one);
    if (one.wanted !== wanted) one.lost = undefined;
    one.wanted = wanted;
    const until = one.contest.lostUntil(wanted, clock());
    if (until !== undefined) {
      one.lost = { path, manager: await writerOf(cluster, path).catch(() => one.lost?.manager) };
      throw new Contested(method, one.lost, (until - clock()) / 1000);
    }
    const reply = await send();
    one.contest.wrote(wanted, clock());
    return reply;
  }

  return {
    cluster: {
      ...cluster,
      apply: (path, body, options) => {
        const send = () => cluster.apply<never>(path, body, options);
        return options.dryRun === true ? send() : write("PATCH", path, body, send);
      },
      replace: (path, body, options) => {
        const send = () => cluster.replace<never>(path, body, options);
        return options?.dryRun === true ? send() : write("PUT", path, body, send);
      },
    } satisfies Cluster as Cluster,
    /** Those that a write was refused for, until a minute has passed without another such write. */
    standing: (): readonly ContestedObject[] => {
      const now = clock();
      return [...all.values()].flatMap(({ contest, lost, wanted }) =>
        lost !== undefined && contest.lostUntil(wanted, now) !== undefined ? [lost] : [],
      );
    },
  };
}

/**
 * What a write is to bring about, whatever version it is based on. Kept in memory only; the digest
 * of a Secret goes nowhere.
 */
function essenceOf(body: object): string {
  const { metadata = {}, ...rest } = body as KubernetesObject & { metadata?: V1ObjectMeta };
  const { name, labels, annotations, ownerReferences, finalizers } = metadata;
  const mine = { name, labels, annotations, ownerReferences, finalizers };
  return createHash("sha256")
    .update(JSON.stringify({ ...rest, metadata: mine }))
    .digest("base64");
}

async function writerOf(cluster: Cluster, path: string): Promise<string | undefined> {
  const subresource = path.endsWith("/status") ? "status" : undefined;
  const object = subresource === undefined ? path : path.slice(0, -"/status".length);
  const found = await cluster.get<KubernetesObject>(object, { as: "metadata" });
  return otherManager(found?.metadata, subresource);
}

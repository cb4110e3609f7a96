/**
 * Events on an object. Nothing depends on Events: a cluster that refuses them (a rate limit, a
 * policy, a missing right) still gets its credentials.
 */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import { withHelp } from "#contract/help.ts";
import { timeOf } from "#kube/conditions.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff, later } from "#kube/client/retry.ts";

export type Notice<Reason extends string = string> = Readonly<{
  type: "Normal" | "Warning";
  reason: Reason;
  message: string;
  /**
   * The subject, such as a revision or a Secret's version. The same message about another subject
   * is another Event.
   */
  subject: string;
  /** The Event is repeated while the problem lasts. */
  lasting?: boolean;
}>;

/** The object that an Event is about. It need not exist. */
export type About = Readonly<{ apiVersion: string; kind: string; metadata: V1ObjectMeta }>;

/**
 * The Event, as the API server stores it. Its name is a digest of its content. If another process
 * sends the same Event, the Event already exists and is not repeated.
 */
function eventOf(
  component: string,
  { type, reason, message }: Pick<Notice, "type" | "reason" | "message">,
  { apiVersion, kind, metadata }: About,
  suffix: string,
  now: Date,
) {
  const { name = "", namespace = "default", uid, resourceVersion } = metadata;
  const time = timeOf(now);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name.slice(0, 200)}.${suffix}`, namespace },
    type,
    reason,
    message: withHelp(message),
    involvedObject: { apiVersion, kind, namespace, name, ...(uid && { uid, resourceVersion }) },
    source: { component },
    reportingComponent: component,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

const digestOf = (...parts: readonly unknown[]): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);

const eventsIn = ({ namespace = "default" }: V1ObjectMeta) =>
  `/api/v1/namespaces/${namespace}/events`;

/** Writes one Event of type Warning, and waits for the answer. Never rejects. */
export async function warn(
  cluster: Cluster,
  component: string,
  about: About,
  notice: Pick<Notice, "reason" | "message">,
): Promise<void> {
  const suffix = digestOf(about.metadata.uid, notice.reason, notice.message);
  const event = eventOf(component, { type: "Warning", ...notice }, about, suffix, new Date());
  await cluster.create(eventsIn(about.metadata), event).catch(() => undefined);
}

/**
 * How many digests of recent Events to keep. These Events are not sent again. 500 digests take 50
 * kB.
 */
const remembered = 500;

/**
 * How many Events wait at most. If more would wait, the oldest Events are dropped. Each Event takes
 * about 1 KiB.
 */
const mostWaiting = 100;

/**
 * The number of tries for one Event, over some five minutes. A cluster that has refused an Event
 * this often will keep refusing it.
 */
const mostTries = 12;

/**
 * An Event is repeated after half an hour. By default the API server keeps an Event for an hour, so
 * an Event remains visible even if one repetition is lost.
 */
const repeatMilliseconds = 30 * 60_000;

type Options<One extends Notice> = Readonly<{
  cluster: Cluster;
  /** The program, as the Event's source. */
  component: string;
  /** Called with each Event, for the log, even if the cluster refuses it. */
  reported: (notice: One) => void;
  sent: (notice: One) => void;
  dropped: (notice: One, why: string) => void;
  now: () => Date;
  pause?: (milliseconds: number) => Promise<void>;
}>;

export type Announcer<One extends Notice> = Readonly<{
  /** Sends an Event once. Returns at once and never fails. */
  announce: (notice: One, about: About) => void;
  /** Resolves when no Event waits. */
  idle: () => Promise<void>;
}>;

export function announcer<One extends Notice>({
  cluster,
  component,
  reported,
  sent,
  dropped,
  now,
  pause = later,
}: Options<One>): Announcer<One> {
  type Waiting = {
    readonly notice: One;
    readonly path: string;
    readonly body: object;
    tries: number;
  };
  /** Digest → when the Event was sent. */
  const recent = new Map<string, number>();
  const queue: Waiting[] = [];
  let worker: Promise<void> | undefined;

  async function work(): Promise<void> {
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      const why = await send(next);
      if (why === undefined) sent(next.notice);
      else if (why !== "known") next.tries += 1;
      // The queue might have dropped the Event during the request. A refused Event moves to the end
      // of the queue, so that it blocks no other Event.
      const at = queue.indexOf(next);
      if (at >= 0) queue.splice(at, 1);
      if (why === undefined || why === "known") continue;
      if (at >= 0 && next.tries >= mostTries) dropped(next.notice, why);
      else if (at >= 0) queue.push(next);
      await pause(backoff(next.tries));
    }
  }

  /**
   * Undefined if the Event was created, `known` if it already exists, otherwise the reason of the
   * failure.
   */
  async function send({ path, body }: Waiting): Promise<string | undefined> {
    try {
      await cluster.create(path, body);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return "known";
      return (error as Error).message;
    }
  }

  return {
    announce(notice, about) {
      const { reason, message, subject, lasting } = notice;
      const time = now().getTime();
      const digest = digestOf(about.metadata.uid, reason, message, subject);
      const before = recent.get(digest);
      if (before !== undefined && !(lasting && time - before >= repeatMilliseconds)) return;
      recent.set(digest, time);
      if (recent.size > remembered) recent.delete(recent.keys().next().value ?? "");
      reported(notice);
      if (queue.length >= mostWaiting) {
        const oldest = queue.shift();
        if (oldest !== undefined) dropped(oldest.notice, "too many are waiting");
      }
      // Rounded to half an hour, so that two controllers together repeat the Event once.
      const suffix = lasting ? `${digest}.${Math.floor(time / repeatMilliseconds)}` : digest;
      const body = eventOf(component, notice, about, suffix, now());
      queue.push({ notice, path: eventsIn(about.metadata), body, tries: 0 });
      worker ??= work().finally(() => (worker = undefined));
    },
    idle: async () => worker,
  };
}

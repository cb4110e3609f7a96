/**
 * Events on additional-pull-secret, where administrators look (`kubectl get events -n
 * kube-system`). The name of an Event is a digest of its content. If another controller or a later
 * process sends the same Event, the Event already exists and is not repeated. Nothing waits for an
 * Event, so a cluster that refuses Events (a rate limit, a policy) still gets its credentials.
 */
import { createHash } from "node:crypto";
import type { V1ObjectMeta } from "@kubernetes/client-node";
import type { NewsReason, TroubleReason } from "#api/reasons.ts";
import { withHelp } from "#contract/help.ts";
import { additionalSecretName, namespace } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { backoff } from "#kube/client/retry.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";

export type Notice = Readonly<{
  type: "Normal" | "Warning";
  reason: NewsReason | TroubleReason;
  message: string;
  /**
   * The subject, such as a revision or a Secret's version. The same message about another subject
   * is another Event.
   */
  subject: string;
  /** The Event is repeated while the problem lasts. */
  lasting?: boolean;
}>;

/** The API server refuses longer messages. */
const longestMessage = 1024;

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
 * The number of tries for one Event, over 8 minutes. A cluster that has refused an Event this often
 * will keep refusing it.
 */
const mostTries = 12;

/**
 * An Event is repeated after half an hour. By default the API server keeps an Event for an hour, so
 * an Event remains visible even if one repetition is lost.
 */
export const repeatMilliseconds = 30 * 60_000;

/** Sends an Event once. Returns at once and never fails. */
export type Announce = (notice: Notice, secret: V1ObjectMeta | undefined) => void;

type Options = Readonly<{
  cluster: Cluster;
  /** Called with each Event, for the log, even if the cluster refuses it. */
  reported: (notice: Notice) => void;
  sent: (notice: Notice) => void;
  dropped: (notice: Notice, why: string) => void;
  now: () => Date;
  pause?: (milliseconds: number) => Promise<void>;
}>;

export type Announcer = Readonly<{ announce: Announce; idle: () => Promise<void> }>;

type Waiting = { readonly notice: Notice; readonly body: object; tries: number };

export function announcer({
  cluster,
  reported,
  sent,
  dropped,
  now,
  pause = later,
}: Options): Announcer {
  /** Digest → when the Event was sent. */
  const known = new Map<string, number>();
  const queue: Waiting[] = [];
  let worker: Promise<void> | undefined;

  async function work(): Promise<void> {
    for (let one = queue[0]; one !== undefined; one = queue[0]) {
      const why = await send(one.body);
      if (why === undefined) sent(one.notice);
      else if (why !== "known") one.tries += 1;
      // The queue might have dropped the Event during the request. A refused Event moves to the end
      // of the queue, so that it blocks no other Event.
      const at = queue.indexOf(one);
      if (at >= 0) queue.splice(at, 1);
      if (why === undefined || why === "known") continue;
      if (at >= 0 && one.tries >= mostTries) dropped(one.notice, why);
      else if (at >= 0) queue.push(one);
      await pause(backoff(one.tries));
    }
  }

  /**
   * Undefined if the Event was created, `known` if it already exists, otherwise the reason of the
   * failure.
   */
  async function send(body: object): Promise<string | undefined> {
    try {
      await cluster.create(collections.events, body);
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return "known";
      return (error as Error).message;
    }
  }

  return {
    announce(notice, secret) {
      const time = now().getTime();
      const digest = digestOf(notice, secret?.uid);
      const before = known.get(digest);
      if (before !== undefined && !(notice.lasting && time - before >= repeatMilliseconds)) return;
      known.set(digest, time);
      if (known.size > remembered) known.delete(known.keys().next().value ?? "");
      reported(notice);
      if (queue.length >= mostWaiting) {
        const oldest = queue.shift();
        if (oldest !== undefined) dropped(oldest.notice, "too many are waiting");
      }
      // Rounded to half an hour, so that two controllers together repeat the Event once.
      const name = notice.lasting ? `${digest}.${Math.floor(time / repeatMilliseconds)}` : digest;
      queue.push({
        notice,
        body: event(notice, `${additionalSecretName}.${name}`, secret, now()),
        tries: 0,
      });
      worker ??= work().finally(() => (worker = undefined));
    },
    /** Resolves when no Event waits. */
    idle: async () => worker,
  };
}

const later = (milliseconds: number) =>
  new Promise<void>((resolve) => void setTimeout(resolve, milliseconds).unref());

function digestOf({ reason, message, subject }: Notice, uid: string | undefined): string {
  const text = JSON.stringify([uid, reason, message, subject]);
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

function event(
  { type, reason, message }: Notice,
  name: string,
  secret: V1ObjectMeta | undefined,
  now: Date,
) {
  const time = now.toISOString();
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, namespace },
    type,
    reason,
    message: withHelp(message, longestMessage),
    involvedObject: {
      apiVersion: "v1",
      kind: "Secret",
      namespace,
      name: additionalSecretName,
      ...(secret?.uid === undefined
        ? {}
        : { uid: secret.uid, resourceVersion: secret.resourceVersion }),
    },
    source: { component: fieldManager },
    reportingComponent: fieldManager,
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}

/**
 * What `publish.ts` remembers between runs: the subjects of Events, nodes without an agent, the
 * writers of the sources, and failed requests.
 */
import type { V1ObjectMeta, V1Secret } from "@kubernetes/client-node";
import { additionalSecretName, namespace } from "#contract/names.ts";
import { burstSeconds } from "#controller/rollout/evidence.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import { contains } from "#kube/apply/difference.ts";
import type { Snapshot } from "#controller/sources/snapshot.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { AdmissionError } from "#kube/apply/demands.ts";
import { Contested, type ContestedObject } from "#kube/contested-client.ts";
import { isConflict } from "#runtime/loop.ts";
import * as messages from "./messages.ts";
import type { Trouble } from "./outcome.ts";

type JudgedContent = Readonly<Record<string, string>> | undefined;

export class EventSubjects {
  #edit: { content: JudgedContent; version: string } = { content: undefined, version: "" };
  #original = "";

  /**
   * The version in which the Secret got its present meaning. An edit of labels or white space does
   * not change this version. A refused Secret has no meaning to compare, so it is reported again
   * when its bytes change.
   */
  additional(secret: V1Secret | undefined, { target, problems }: SourcesVerdict): string {
    const refused = target === undefined || problems.additional.length > 0;
    const content = refused ? secret?.data : { document: target.document, sources: target.sources };
    if (
      content === undefined ||
      this.#edit.content === undefined ||
      !isSame(content, this.#edit.content)
    )
      this.#edit = { content, version: versionOf(secret?.metadata) };
    return this.#edit.version;
  }

  /**
   * An original that becomes absent is reported once for each version that it had before, because
   * the Secret might come and go many times.
   */
  original(secret: Snapshot["original"]): string {
    if (typeof secret === "string") return `${secret} after ${this.#original}`;
    this.#original = versionOf(secret.metadata);
    return this.#original;
  }
}

const isSame = (a: unknown, b: unknown) => contains(a, b) && contains(b, a);

const versionOf = (metadata: V1ObjectMeta | undefined) => metadata?.resourceVersion ?? "";

/**
 * Seconds for which nodes can lack an agent's pod before the controller reports it. In a large
 * cluster, Kubernetes needs minutes to create all pods, but their number falls all the time.
 */
export const podlessSeconds = 60;

/**
 * Returns a function that gets the number of nodes without an agent's pod. It returns that number
 * if it has not fallen for `podlessSeconds`. A DaemonSet has no condition for pods that cannot be
 * created (Pod Security, a quota, a webhook), and the reason is in the DaemonSet's Events, which
 * the controller has no right to read.
 */
export function missingPodsClock(now: () => Date): (podless: number) => number | undefined {
  let [since, last] = [0, 0];
  return (podless) => {
    const time = now().getTime() / 1000;
    if (podless === 0 || last === 0 || podless < last) since = time;
    last = podless;
    return podless === 0 || time - since < podlessSeconds ? undefined : podless;
  };
}

/** Milliseconds for which a writer of a source is remembered: a burst of publications. */
const writerMilliseconds = burstSeconds * 1000;

/** The programs that wrote the data of the sources' Secrets, from the API server's records. */
export class SourceWriters {
  /** Secret → field manager → when it last wrote, in milliseconds since 1970. */
  #writers = new Map<string, Map<string, number>>();

  /**
   * Each Secret that was written within the last ten minutes, with its writers: `team-a (argocd,
   * helm)`. A writer whose value another program has replaced is no longer in `managedFields`, so
   * earlier writers are remembered.
   */
  of(snapshot: Snapshot, now: Date): readonly string[] {
    for (const [name, secret] of secretsOf(snapshot))
      for (const { manager = "", fieldsV1, time } of secret.metadata?.managedFields ?? []) {
        const at = Date.parse(String(time));
        if (!("f:data" in (fieldsV1 ?? {})) || manager === "" || Number.isNaN(at)) continue;
        const managers = this.#writers.get(name) ?? new Map<string, number>();
        this.#writers.set(name, managers.set(manager, at));
      }
    return [...this.#writers].flatMap(([name, managers]) => {
      for (const [manager, at] of managers)
        if (now.getTime() - at > writerMilliseconds) managers.delete(manager);
      if (managers.size === 0) this.#writers.delete(name);
      return managers.size === 0 ? [] : [`${name} (${[...managers.keys()].toSorted().join(", ")})`];
    });
  }
}

/** The sources' Secrets that exist, by NAMESPACE/NAME. */
function secretsOf({
  additional,
  extras,
  original,
}: Snapshot): readonly (readonly [string, V1Secret])[] {
  const named = extras.map(({ secret, lookup }) => [secret, lookup] as const);
  const all = [
    [`${namespace}/${additionalSecretName}`, additional] as const,
    ...named,
    ["the original", original] as const,
  ];
  return all.flatMap(([name, secret]) =>
    typeof secret === "object" ? [[name, secret] as const] : [],
  );
}

/**
 * After this many consecutive refusals, the controller reports the refusal. The cause of the first
 * refusal might be a right that is just being granted, or a webhook that restarts.
 */
const refusalsBeforeReport = 2;

/**
 * After this many consecutive runs without an answer, the controller reports this. With the pauses
 * between runs, eight runs take one to four minutes, longer than an API server needs to restart.
 */
const silencesBeforeReport = 8;

/**
 * With these statuses, the API server has not judged the request: no answer, too many requests,
 * not available, no answer in time.
 */
const silent: ReadonlySet<number> = new Set([0, 429, 503, 504]);

export class RequestTroubles {
  #refusals = 0;
  #silences = 0;
  #silence: messages.Notice | undefined;
  /** The failed write that was counted last. */
  #counted: Error | undefined;
  #last: readonly Trouble[] = [];

  /**
   * The troubles after a run, or undefined if nothing changes. `error`: why the run failed.
   * `failedWrite`: a write that failed in a run that succeeded. It stays the same until the
   * controller tries this write again.
   */
  after(
    error: unknown,
    failedWrite: Error | undefined,
    contests: readonly ContestedObject[],
  ): readonly Trouble[] | undefined {
    const contested: readonly Trouble[] =
      contests.length === 0 ? [] : [["contested", messages.contested(contests)]];
    if (error instanceof Contested) {
      this.#last = [];
      return contested;
    }
    if (error !== undefined) {
      const troubles = this.#failed(error);
      this.#last = troubles ?? this.#last;
      return troubles;
    }
    const isNew = failedWrite !== this.#counted;
    this.#counted = failedWrite;
    if (failedWrite === undefined) this.#succeeded();
    else if (isNew) this.#last = this.#failed(failedWrite) ?? this.#last;
    return [...this.#last, ...contested];
  }

  /**
   * Counts a failure. Returns the troubles to report, or undefined if nothing changes. A single
   * failure is not reported, because it can be momentary. A conflict never counts as a failure,
   * because the next run reads again.
   */
  #failed(error: unknown): readonly Trouble[] | undefined {
    const { message } = error as Error;
    if (isConflict(error)) return undefined;
    if (error instanceof ApiError && silent.has(error.status)) {
      this.#silences += 1;
      if (this.#silences < silencesBeforeReport) return undefined;
      // Keep the first text, because each failure can have another text, and each text would be
      // another Event.
      this.#silence ??= messages.unanswered(message);
      return [["unanswered", this.#silence]];
    }
    if (!(error instanceof ApiError) && !(error instanceof AdmissionError)) return undefined;
    this.#refusals += 1;
    if (this.#refusals < refusalsBeforeReport) return undefined;
    return [["refused", messages.refused(message)]];
  }

  #succeeded(): void {
    [this.#refusals, this.#silences, this.#silence] = [0, 0, undefined];
    this.#last = [];
  }
}

/**
 * One cluster of the fleet: its connection, the Secret there as its watch shows it, and what it
 * says of itself. One that is down delays nobody but itself.
 */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { backoff } from "#kube/loop.ts";
import { secretsIn } from "#kube/client/paths.ts";
import { kubeConfigOf, readKubeconfig } from "#kube/remote.ts";
import { follow, type Target as FollowTarget } from "#kube/watch/watch.ts";
import { cached } from "#kube/watch/cached-client.ts";
import { formatProblem } from "#pullsecret/problems/problems.ts";
import { has, isPlacedBy, placed, type Content } from "../secret/content.ts";
import { sentence } from "../secret/problems.ts";

/** Owner of what is placed; also the name that a guest's audit log shows. */
export const fleetManager = "global-pull-secret-fleet";

/** A guest may take so long for an answer; one that takes longer is as good as away. */
const answerSeconds = 10;

/** Bytes: no list of one Secret is longer, and a hundred of them fit our memory. */
const largestAnswer = 4 * 1024 * 1024;

/** A guest that is away is asked again after so long at most. */
const longestPause = 30_000;

type Target = Readonly<{ namespace: string; name: string }>;

type Options = Readonly<{
  /** The namespace that declares it. */
  name: string;
  target: Target;
  /** The management cluster. */
  home: Cluster;
  /** Only the holder of the Lease writes. */
  holds: () => boolean;
  hint: () => void;
}>;

/** What is there: a Secret, none, or no answer, with the reason. */
export type Shown = Readonly<{ secret: V1Secret | undefined }> | Readonly<{ away: string }>;

type Open = Readonly<{
  place: string;
  cluster: Cluster;
  informer: Informer;
  target: FollowTarget;
  stop: AbortController;
}>;

export class Guest {
  readonly name: string;
  readonly #options: Options;
  readonly #path: string;
  #open: Open | undefined;
  #away: string | undefined = "";
  /** A write that got no answer: the guest is as good as away until then. */
  #unanswered: { why: string; times: number; until: number } | undefined;
  /** Of this content: why it was refused, how often, and when it may be tried again. */
  #refusal: { of: Content; why: string; times: number; next: number } | undefined;
  #last: V1Secret | undefined;
  #nextOpening = 0;
  #openings = 0;
  busy = false;
  looking = false;

  constructor(options: Options) {
    this.name = options.name;
    this.#options = options;
    this.#path = `${secretsIn(options.target.namespace)}/${options.target.name}`;
  }

  /** Undefined until it has been asked once. */
  shown(now: number): Shown | undefined {
    if (this.#unanswered !== undefined && now < this.#unanswered.until)
      return { away: this.#unanswered.why };
    const state = this.#open?.informer.shown;
    if (typeof state === "object") this.#last = state.object ?? undefined;
    // A watch that has ended in its time begins anew at once.
    if (state !== undefined && this.#away === undefined) return { secret: this.#last };
    return this.#away === "" || this.#away === undefined ? undefined : { away: this.#away };
  }

  /** Why this content was refused here, and whether it may be tried again now. */
  refusal(content: Content, now: number): Readonly<{ why: string; again: boolean }> | undefined {
    const one = this.#refusal;
    return one !== undefined && same(one.of, content)
      ? { why: one.why, again: one.next <= now }
      : undefined;
  }

  /**
   * Connects, or takes up a kubeconfig that was renewed: read while there is no connection that
   * answers, and not more often than its pauses say. Never rejects.
   */
  async look(now: number): Promise<void> {
    this.looking = true;
    try {
      if (this.#open === undefined || this.#away !== undefined) await this.#connect(now);
      // Our own write may not have been shown yet.
      if (this.#open?.informer.shown === "list") await this.#open.cluster.get(this.#path);
    } catch (error) {
      this.#away ||= away(error);
    } finally {
      this.looking = false;
    }
  }

  async #connect(now: number): Promise<void> {
    if (now < this.#nextOpening) return;
    this.#openings += 1;
    this.#nextOpening = now + Math.min(backoff(this.#openings), longestPause);
    const secretName = `${this.name}-kubeconfig`;
    const path = `${secretsIn(this.name)}/${secretName}`;
    const value = (await this.#options.home.get<V1Secret>(path))?.data?.["value"];
    if (value === undefined) return this.#shut(sentence("noKubeconfig", secretName));
    if (this.#open?.place === value) return;
    const read = readKubeconfig(Buffer.from(value, "base64"), secretName);
    const [first] = read.ok ? [] : read.problems;
    if (first !== undefined)
      return this.#shut(sentence("kubeconfig", `${first.code} ${formatProblem(first)}`));
    if (!read.ok) return;
    this.close();
    const how = { manager: fleetManager, seconds: answerSeconds, largest: largestAnswer };
    const live = connect(kubeConfigOf(read.access), () => {}, how);
    const { namespace, name } = this.#options.target;
    const target = { collection: secretsIn(namespace), name };
    const informer = new Informer();
    const cluster = cached(live, [{ target, informer }]);
    this.#open = { place: value, cluster, informer, target, stop: new AbortController() };
    this.#follow(this.#open, live);
  }

  close(): void {
    this.#open?.stop.abort();
    this.#open = undefined;
  }

  /** Brings the content there. Never rejects; what came of it is shown. */
  async change(content: Content, owner: string): Promise<void> {
    const path = this.#path;
    await this.#write(content, async (cluster, found) => {
      const { uid = "", resourceVersion } = found?.metadata ?? {};
      const wanted = placed(content, owner, this.#options.target);
      const withVersion = (version: object) => {
        return { ...wanted, metadata: { ...wanted.metadata, ...version } };
      };
      const how = { manager: fleetManager, force: true };
      // A type cannot be changed.
      const other = found !== undefined && typeOf(found) !== content.type;
      if (other) await cluster.remove(path, uid, resourceVersion);
      let reply: V1Secret;
      if (found === undefined || other)
        reply = await cluster.apply(path, withVersion({ resourceVersion: newborn }), how);
      // An apply leaves the keys that others added.
      else if (Object.keys(found.data ?? {}).every((key) => Object.hasOwn(content.data, key)))
        reply = await cluster.apply(path, withVersion({ uid, resourceVersion }), how);
      else reply = await cluster.replace(path, withVersion({ uid, resourceVersion }));
      if (!has(reply, content)) throw new Mutated(sentence("mutated"));
    });
  }

  /** Takes away what that owner placed; true when nothing of it is left. */
  async release(owner: string, now: number): Promise<boolean> {
    const shown = this.shown(now);
    if (shown === undefined || "away" in shown) return false;
    if (shown.secret === undefined || !isPlacedBy(shown.secret, owner)) return true;
    await this.#write(undefined, async (cluster, found) => {
      const { uid = "", resourceVersion } = found?.metadata ?? {};
      await cluster.remove(this.#path, uid, resourceVersion);
    });
    return false;
  }

  async #write(
    content: Content | undefined,
    write: (cluster: Cluster, secret: V1Secret | undefined) => Promise<void>,
  ): Promise<void> {
    const now = Date.now();
    const shown = this.shown(now);
    if (this.#open === undefined || shown === undefined || "away" in shown) return;
    if (!this.#options.holds()) return;
    this.busy = true;
    try {
      await write(this.#open.cluster, shown.secret);
      this.#refusal = undefined;
      this.#unanswered = undefined;
    } catch (error) {
      // A conflict: somebody was there first, and the watch is about to tell.
      if (error instanceof ApiError && error.status === 409) return;
      if (isAway(error)) {
        const times = (this.#unanswered?.times ?? 0) + 1;
        const pause = Math.min(backoff(times), longestPause);
        this.#unanswered = { why: away(error), times, until: Date.now() + pause };
      } else if (content !== undefined) this.#refuse(content, error as Error);
    } finally {
      this.busy = false;
      this.#options.hint();
    }
  }

  #refuse(of: Content, error: Error): void {
    const former = this.#refusal;
    const times = former !== undefined && same(former.of, of) ? former.times + 1 : 1;
    const why = error instanceof Mutated ? error.message : sentence("refused", told(error));
    this.#refusal = { of, why, times, next: Date.now() + Math.max(5000, backoff(times)) };
  }

  #shut(why: string): void {
    this.close();
    this.#away = why;
  }

  #follow({ informer, target, stop }: Open, live: Cluster): void {
    const { hint } = this.#options;
    void follow({
      cluster: live,
      target,
      informer,
      longestPause,
      signal: stop.signal,
      hint: () => {
        this.#away = undefined;
        this.#openings = 0;
        hint();
      },
      failed: (error) => {
        this.#away = away(error);
        hint();
      },
    });
  }
}

const typeOf = ({ type = "Opaque" }: V1Secret): string => type;
const same = (one: Content, other: Content): boolean => has(one, other);

/** No answer, or one that says nothing of the request; a refusal does. */
function isAway(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500 || [401, 408, 429].includes(error.status);
}

const away = (error: unknown): string => sentence("unreachable", told(error));

/** Of the guest's answer only status and reason: what else is in it may be anything. */
const told = (error: unknown): string =>
  error instanceof ApiError ? error.message : "its answer is not an API server's";

class Mutated extends Error {}

/**
 * The oracle: the model's own controller. It decides from a snapshot and a memory, and changes the
 * world only through `Hands`, which either writes or only records the oracle's requests.
 */
import type { Memory } from "#controller/rollout/facts.ts";
import {
  AGAIN,
  AWAY,
  isAway,
  isRefused,
  isWorking,
  judge,
  observe,
  pauseOf,
  type OracleMemory,
  type Record_,
  type Verdict,
} from "./judge.ts";
import type { Hands } from "./hands.ts";
import {
  FORGET,
  keyOf,
  newState,
  RELEASE,
  servedDigest,
  wantedDigest,
  withdraws,
  type Api,
  type Digest,
  type Pod,
  type Secret,
  type State,
  type Template,
} from "./world.ts";

export type Clock = Readonly<{ steady: number; api: number }>;

type Templates = ReadonlyMap<number, Template>;

export function oracle(
  api: Api,
  before: Memory,
  clock: Clock,
  { hands, templates }: { hands: Hands; templates: Templates },
): Memory {
  const want = wantedDigest(api);
  const s = api.secret;
  const isInstalled = s !== null && (api.ds !== null || s.digest !== RELEASE);
  if (api.paused && want !== RELEASE && !isInstalled) return before;
  if (!s) {
    if (want !== RELEASE || api.ds) publish(api, want, hands);
    return before;
  }
  if (!api.ds) {
    if (want !== RELEASE || s.digest !== RELEASE) hands.template();
    else hands.complete(true);
    return before;
  }
  const one = new Turn(api, s, before, clock, hands, templates);
  one.play(api.ds.template, want);
  return Object.assign({}, before, one.memory);
}

/** One decision of the oracle. */
class Turn {
  readonly memory: OracleMemory;
  readonly #api: Api;
  readonly #s: Secret;
  readonly #clock: Clock;
  readonly #hands: Hands;
  readonly #templates: Templates;
  readonly #release: boolean;
  readonly #pods: readonly Pod[];
  readonly #verdicts = new Map<Pod, Verdict>();
  readonly #uids: ReadonlySet<string>;
  readonly #places = new Set<string>();
  readonly #granted = new Set<Pod>();
  /** Pods that this decision has already written. */
  readonly #written = new Set<Pod>();
  #state: State;

  // oxlint-disable-next-line max-params
  constructor(
    api: Api,
    s: Secret,
    before: Memory,
    clock: Clock,
    hands: Hands,
    templates: Templates,
  ) {
    this.#api = api;
    this.#s = s;
    this.#clock = clock;
    this.#hands = hands;
    this.#templates = templates;
    this.#release = s.digest === RELEASE;
    this.#pods = [...api.pods.values()];
    this.#uids = new Set([...api.nodes.values()].map(({ uid }) => String(uid)));
    const { state } = api;
    this.#state = structuredClone(
      state.rev === s.rev ? state : newState(s.rev, state.retry, state.replaced),
    );
    this.memory = {
      pods: new Map(),
      places: new Map(before.places),
      raised: new Map(before.raised),
    };
    for (const pod of this.#pods) {
      const seen = observe(pod, before, clock.steady);
      this.memory.pods.set(String(pod.uid), seen);
      const { mode } = templates.get(pod.template) ?? s;
      this.#verdicts.set(pod, judge(pod, seen, { mode, api, now: clock.steady }));
    }
    // The node of a pod that was deleted under a grant keeps its place in the window.
    for (const [uid, { holds, node, created }] of before.pods)
      if (holds && !this.memory.pods.has(uid))
        this.memory.places.set(node, { created, at: clock.steady });
  }

  play(template: Template, want: Digest): void {
    this.#settlePlaces();
    this.#record();
    if (this.#steer()) return;
    this.#takeBack();
    const s = this.#s;
    const api = this.#api;
    const other = want !== s.digest;
    const behind = this.#pods.filter((pod) => this.#isBehind(pod));
    const isBehind = behind.length > 0;
    const leaves = want === RELEASE || [s.digest, servedDigest(s)].some((x) => withdraws(x, want));
    const early = other && !leaves && this.#clock.api - s.at < api.minInterval;
    const held = other && (api.paused || early);
    const otherMode = template.mode !== s.mode && want !== RELEASE;
    const newer = !held && (other || otherMode || isBehind);
    if (newer && (want === RELEASE || this.#places.size === 0)) {
      const revision = publish(api, want, this.#hands);
      if (!other && !otherMode)
        for (const { node } of behind) {
          const last = this.memory.raised.get(node);
          const count = (last?.count ?? 0) + (last && s.rev < last.revision ? 0 : 1);
          this.memory.raised.set(node, { at: this.#clock.steady, count, revision });
        }
      return;
    }
    const isWithdrawn = other && !api.paused && withdraws(servedDigest(s), want);
    if (isWithdrawn && s.served > 0) return this.#hands.emptyServed();
    if (template.n !== api.want.n) return this.#hands.template();
    this.#upgrade(template);
    if (!newer && !this.#isPaused() && (!this.#state.halted || this.#release)) this.#grant();
    this.#sync();
    this.#promote(newer || other);
    if (this.#release && want === RELEASE) this.#end();
  }

  /**
   * True if the pod's node reports a higher revision than the published one. If the node repeats
   * this report, true again only after a growing pause.
   */
  #isBehind({ node, message }: Pod): boolean {
    const { rev } = this.#s;
    if (message?.kind !== "behind" || message.journal <= rev) return false;
    if (message.journal > Math.max(rev, this.#api.state.rev) + 2 ** 20) return false;
    const last = this.memory.raised.get(node);
    return !last || rev < last.revision || this.#clock.steady - last.at >= pauseOf(last.count);
  }

  /**
   * During a pause the controller writes no grants, not even for a retry. A withdrawal that has
   * begun continues.
   */
  #isPaused(): boolean {
    return this.#api.paused && !this.#release;
  }

  #seen(pod: Pod): Record_ {
    return this.memory.pods.get(String(pod.uid)) as Record_;
  }

  #of(verdict: Verdict): readonly Pod[] {
    return this.#pods.filter((pod) => this.#verdicts.get(pod) === verdict);
  }

  #uidOf({ node, uid }: Pod): string {
    const found = this.#api.nodes.get(node);
    return found ? String(found.uid) : `pod/${uid}`;
  }

  #save(change: (state: State) => void): void {
    change(this.#state);
    this.#hands.save(structuredClone(this.#state));
  }

  #settlePlaces(): void {
    const { steady } = this.#clock;
    for (const pod of this.#pods) {
      const seen = this.#seen(pod);
      const verdict = this.#verdicts.get(pod);
      seen.holds = verdict === "unproved" || verdict === "back" || seen.sent !== undefined;
      if (seen.holds) this.#places.add(pod.node);
    }
    for (const [node, place] of this.memory.places) {
      const found = this.#api.nodes.get(node);
      const pod = this.#api.pods.get(node);
      const gone = !found || found.created > place.created;
      const lost = pod
        ? !pod.ready && ["excused", "failed"].includes(this.#verdicts.get(pod) ?? "")
        : steady - place.at >= AWAY;
      const arrived = pod?.ready === true && steady - this.#seen(pod).readyAt >= 3;
      const uid = String(found?.uid);
      if (lost && !gone && !this.#release && !this.#state.failed.includes(uid))
        this.#save((x) => x.failed.push(uid));
      const { rev, failed } = this.#api.state;
      const isStored = this.#release || (rev === this.#s.rev && failed.includes(uid));
      if (gone || arrived || (lost && isStored)) this.memory.places.delete(node);
      else this.#places.add(node);
    }
  }

  #record(): void {
    const state = this.#state;
    const s = this.#s;
    const atCanary = this.#api.pods.get(state.canaryNode)?.grant;
    const isSeen = atCanary?.rev === s.rev && atCanary.digest === s.digest;
    const isLost = state.canary && !this.#uids.has(state.canary) && !isSeen;
    if (!this.#release && isLost && !state.word)
      this.#save((x) => {
        if (!x.failed.includes(x.canary)) x.failed.push(x.canary);
        x.canary = x.canaryNode = "";
      });
    const isProof = (pod: Pod): boolean =>
      pod.grant?.rev === s.rev && pod.grant.word && this.#verdicts.get(pod) === "proved";
    if (!state.word && this.#pods.some(isProof))
      this.#save((x) => {
        x.word = true;
        x.base = Math.max(...this.#pods.map(({ created }) => created));
      });
    const failed = this.#failed().map((pod) => this.#uidOf(pod));
    const news = failed.filter((uid) => !state.failed.includes(uid));
    if (news.length > 0 && !this.#release) this.#save((x) => x.failed.push(...news));
    // Forgets a canary that has refused its grant or whose grant admission has refused. If such a
    // canary disappears, this is not a failure.
    const canary = this.#pods.find((pod) => this.#uidOf(pod) === state.canary);
    if (!canary || state.word) return;
    const holds = canary.grant?.rev === s.rev && canary.grant.digest === s.digest;
    const verdict = this.#verdicts.get(canary);
    const began = holds
      ? verdict !== "excused" || !["unfit", "behind"].includes(canary.message?.kind ?? "")
      : verdict === "excused" || !isRefused(this.#seen(canary), this.#clock.steady);
    if (!began) this.#save((x) => (x.canary = x.canaryNode = ""));
  }

  #failed(): readonly Pod[] {
    const { rev, digest } = this.#s;
    const { lost } = this.#state;
    return this.#of("failed").filter((pod) =>
      pod.grant
        ? pod.grant.rev === rev && pod.grant.digest === digest
        : !lost.includes(this.#uidOf(pod)),
    );
  }

  #steer(): boolean {
    const { retry, maxFailures } = this.#api;
    const state = this.#state;
    if (retry !== state.retry && !this.#isPaused()) {
      this.#save((x) => Object.assign(x, { retry, halted: false, lost: x.failed, failed: [] }));
      return true;
    }
    if (this.#s.served === this.#s.rev) {
      if (state.halted) this.#save((x) => (x.halted = false));
      return false;
    }
    if (this.#release || state.halted || state.failed.length <= maxFailures) return false;
    this.#save((x) => (x.halted = true));
    return true;
  }

  #takeBack(): void {
    const back = (pod: Pod, digest: string): void => {
      const { grant } = pod;
      if (!grant || grant.rev === 0 || !this.#mayPatch(pod)) return;
      this.#hands.patch(pod, { rev: 0, digest, since: pod.since, word: false });
      this.#written.add(pod);
    };
    const halted = this.#state.halted ? [...this.#of("unproved"), ...this.#failed()] : [];
    for (const pod of halted) back(pod, "");
    // Revokes grants whose content is no longer published, because no agent can fulfil them.
    const { rev, digest, served } = this.#s;
    const isVoid = ({ grant }: Pod): boolean =>
      grant?.rev === rev ? grant.digest !== digest : grant?.rev !== served;
    const isReplacing = this.#release && wantedDigest(this.#api) === RELEASE;
    if (!isReplacing && (this.#release || !this.#state.halted))
      for (const pod of this.#of("unproved").filter(isVoid)) back(pod, "");
    // An excused node that has proved its grant keeps the grant, unless it must get newer content,
    // or its agent has refused the grant.
    const isDead = ({ grant, message }: Pod): boolean =>
      grant !== null && message?.key === keyOf(grant) && ["unfit", "behind"].includes(message.kind);
    const keeps = (pod: Pod): boolean =>
      this.#seen(pod).isSettled &&
      !isDead(pod) &&
      (this.#release || pod.grant?.rev === this.#s.rev);
    const excused = this.#of("excused").filter((pod) => !keeps(pod));
    for (const pod of [...excused, ...(this.#release ? [] : this.#of("failed"))])
      if (!halted.includes(pod)) back(pod, `${pod.grant?.rev}`);
    for (const pod of this.#of("failed")) this.#count(pod);
  }

  /** Counts a failure, once for each grant. */
  #count(pod: Pod): void {
    const { grant } = pod;
    if (!grant || this.#release) return;
    const seen = this.#seen(pod);
    const { revision, count = 0, grant: last } = seen.failures ?? {};
    if (revision !== grant.rev)
      seen.failures = { revision: grant.rev, grant: seen.grant, count: 1 };
    else if (last !== seen.grant) seen.failures = { revision, grant: seen.grant, count: count + 1 };
  }

  /** False for 5 s after admission has refused a patch, or for 60 s if the node is excused. */
  #mayPatch(pod: Pod): boolean {
    const seen = this.#seen(pod);
    const pause = isRefused(seen, this.#clock.steady) ? 60 : 5;
    return !seen.refused || this.#clock.steady - seen.refused.last >= pause;
  }

  /** Deletes pods of older templates, because the update strategy is OnDelete. */
  #upgrade(template: Template): void {
    const api = this.#api;
    const budget = api.budget >= 100 ? Infinity : api.budget;
    const arrived = (node: string): boolean => {
      const pod = api.pods.get(node);
      const isFinal = pod?.template === template.n || this.#release;
      return pod ? pod.ready && isFinal : !api.nodes.has(node);
    };
    if (this.#state.replaced.some(arrived))
      this.#save((x) => (x.replaced = x.replaced.filter((node) => !arrived(node))));
    for (const pod of this.#pods) {
      if (this.#written.has(pod)) continue;
      if (this.#release && pod.ready) continue;
      const isDone = this.#verdicts.get(pod) === "proved" && pod.grant?.rev === this.#s.rev;
      if (this.#release && isDone) continue;
      if (pod.template === template.n || pod.unreachable || this.#places.has(pod.node)) continue;
      const counts = pod.ready || this.#clock.steady - this.#seen(pod).readyAt < AWAY;
      if (counts && !this.#state.replaced.includes(pod.node)) {
        if (this.#state.replaced.length >= budget) continue;
        this.#save((x) => x.replaced.push(pod.node));
      }
      this.#hands.remove(pod);
      this.#written.add(pod);
    }
  }

  #sync(): void {
    for (const pod of [...this.#of("unproved"), ...this.#of("back")]) {
      if (this.#written.has(pod)) continue;
      const seen = this.#seen(pod);
      const { steady } = this.#clock;
      const { mode } = this.#templates.get(pod.template) ?? this.#s;
      if (isWorking(pod, seen, mode, steady)) continue;
      const due = [5, 10, 20, 40].filter((at) => steady - seen.grantAt >= at).length;
      if (due > seen.syncs) this.#hands.sync(pod);
      seen.syncs = Math.max(seen.syncs, due);
    }
  }

  #grant(): void {
    const s = this.#s;
    const { budget } = this.#api;
    const { steady, api: apiTime } = this.#clock;
    const { lost, canary, canaryNode } = this.#state;
    const promoted = s.served === s.rev;
    const alone = !this.#release && !promoted && !this.#state.word && budget < 100;
    const cap = alone ? 1 : budget >= 100 ? Infinity : budget;
    // A node that need not restart its kubelet takes no place in the window, except if it must
    // prove the content.
    const counts = (node: string): boolean => {
      const pod = this.#api.pods.get(node);
      const { mode } = this.#templates.get(pod?.template ?? 0) ?? { mode: "Restart" };
      return alone || mode === "Restart";
    };
    // If admission has refused three pods within a minute, it might refuse every canary.
    const lasts = this.#pods.map((pod) => this.#seen(pod).refused?.last ?? -Infinity);
    const barred = alone && lasts.filter((last) => steady - last < AWAY).length >= 3;
    const used = (): number => [...this.#places].filter(counts).length;
    const may = (pod: Pod): boolean => {
      const { grant } = pod;
      const seen = this.#seen(pod);
      const template = this.#templates.get(pod.template) as Template;
      if (this.#written.has(pod)) return false;
      if (pod.unreachable > 0 || isAway(seen, steady)) return false;
      if (seen.sent) return steady - seen.sent.at >= 2;
      if (barred) return false;
      if (!this.#release && (this.#places.has(pod.node) || template.mode !== s.mode)) return false;
      // During a withdrawal, a NotReady agent that waits for content gets a new grant. An absent
      // agent does not.
      const { kind = "", key } = pod.message ?? {};
      const isAnswer = grant && key === keyOf(grant) && ["unfit", "behind"].includes(kind);
      const isAbsent = this.#verdicts.get(pod) === "excused" && !isAnswer;
      const waits = this.#release && grant && grant.rev > 0 && !isAbsent;
      if (!pod.ready && !waits) return false;
      if (!this.#mayPatch(pod)) return false;
      // A node that has proved the content without a termination message gets a grant that requests
      // the message.
      const isSilent = this.#verdicts.get(pod) === "proved" && grant?.word === false;
      if (has(pod)) return !this.#release && !promoted && !this.#state.word && isSilent;
      const { revision, count = 1 } = seen.failures ?? {};
      const pause = pauseOf(revision === s.rev ? count : 1);
      const excused = grant
        ? grant.rev === 0 && grant.digest === `${s.rev}`
        : this.#verdicts.get(pod) === "failed";
      const refused = pod.message?.rev === s.rev && pod.message.kind !== "proved";
      if (this.#release && !refused) return true;
      return !excused || lost.includes(this.#uidOf(pod)) || steady - seen.readyAt >= pause;
    };
    const has = ({ grant }: Pod) => grant?.rev === s.rev && grant.digest === s.digest;
    const rank = (pod: Pod): number[] => [
      this.#seen(pod).sent ? 0 : 1,
      lost.includes(this.#uidOf(pod)) ? 0 : 1,
      alone && !has(pod) ? 1 : 0,
      alone && this.#seen(pod).refused ? 1 : 0,
      // The result of a canary whose pod was deleted is unknown until its node tries again.
      alone && canary && canaryNode !== pod.node ? 1 : 0,
      alone && apiTime - pod.lastExit < AGAIN ? 1 : 0,
      // Joining nodes come last, so that all other nodes get a grant, however many nodes join.
      pod.created > s.at ? 1 : 0,
      pod.grant?.rev ?? 0,
    ];
    const order = this.#pods
      .filter(may)
      .map((pod) => ({ pod, rank: rank(pod) }))
      .toSorted((x, y) => x.rank.map((r, i) => r - (y.rank[i] ?? 0)).find((d) => d !== 0) ?? 0);
    for (const { pod } of order) {
      const size = used();
      const own = this.#places.has(pod.node) && size <= cap;
      if (counts(pod.node) && size >= cap && !own) continue;
      const uid = this.#uidOf(pod);
      if (alone && this.#state.canary !== uid)
        this.#save((x) => Object.assign(x, { canary: uid, canaryNode: pod.node }));
      const word = this.#release || (!promoted && !this.#state.word);
      const grant = { rev: s.rev, digest: s.digest, since: pod.since, word };
      const resourceVersion = String(pod.rv);
      if (!this.#hands.patch(pod, grant)) continue;
      this.#places.add(pod.node);
      this.#granted.add(pod);
      this.#written.add(pod);
      const seen = this.#seen(pod);
      const sent = { resourceVersion, at: steady, held: seen.holds };
      Object.assign(seen, { holds: true, sent });
    }
  }

  #promote(isHeld: boolean): void {
    const { rev, served } = this.#s;
    const { state } = { state: this.#state };
    if (this.#release) return;
    const done = (pod: Pod): boolean => {
      if (this.#granted.has(pod)) return false;
      const verdict = this.#verdicts.get(pod);
      if (verdict === "excused" || verdict === "failed") return true;
      const isBack = pod.grant?.rev === 0 && pod.grant.digest === `${rev}`;
      if (isBack && verdict !== "back" && !state.lost.includes(this.#uidOf(pod))) return true;
      const { steady } = this.#clock;
      if (isRefused(this.#seen(pod), steady) || isAway(this.#seen(pod), steady)) return true;
      return verdict === "proved" && pod.grant?.rev === rev && pod.grant.digest === this.#s.digest;
    };
    const all = (age: number): boolean => this.#pods.every((pod) => pod.created > age || done(pod));
    const waits = (awaited: number): void => {
      if (awaited !== state.awaited) this.#save((x) => (x.awaited = awaited));
    };
    if (served === rev) {
      if (state.awaited >= 0 && all(state.awaited)) waits(-1);
      return;
    }
    if (isHeld || !state.word || state.halted || !all(state.base)) return;
    waits(all(Infinity) ? -1 : Math.max(...this.#pods.map(({ created }) => created)));
    this.#hands.promote();
  }

  #end(): void {
    const { rev, at } = this.#s;
    // A node that joined during the write of the release might have the former content.
    const written = at + 120;
    const all = [...this.#api.nodes.values()].every(({ name, created }) => {
      const pod = this.#api.pods.get(name);
      const confirmed =
        pod?.grant?.rev === rev && this.#verdicts.get(pod) === "proved" && !this.#granted.has(pod);
      // Checks the pod's age too, because the pod of an old Node of this name might still exist.
      return confirmed || (created > written && (pod?.created ?? Infinity) > written);
    });
    if (all || this.#clock.api - at > FORGET) this.#hands.complete(all);
  }
}

/** Publishes the wanted content, and returns its revision. */
function publish(api: Api, want: Digest, hands: Hands): number {
  const s = api.secret;
  const mode = api.ds?.template.mode ?? api.want.mode;
  const seen = [...api.pods.values()].flatMap(({ grant, message }) => [
    grant?.rev ?? 0,
    message?.rev ?? 0,
    message?.journal ?? 0,
  ]);
  const own = Math.max(0, s?.rev ?? 0, api.state.rev);
  const rev = 1 + Math.max(own, ...seen.filter((one) => one <= own + 2 ** 20));
  const keep =
    s !== null &&
    s.mode === mode &&
    want !== RELEASE &&
    s.digest !== RELEASE &&
    !withdraws(servedDigest(s), want) &&
    s.served > 0;
  hands.publish({
    rev,
    digest: want,
    mode,
    served: keep ? s.served : 0,
    servedDigest: keep ? servedDigest(s) : "",
  });
  return rev;
}

/** The laws. They check what really happened, and share no code with the product. */
import {
  budgetOf,
  fail,
  isOpen,
  isReachable,
  keyOf,
  modeOf,
  PLANTED,
  RELEASE,
  wantedDigest,
  withdraws,
  type Digest,
  type Machine,
  type Mode,
  type Pod,
  type World,
} from "./world.ts";

/** Seconds after which the controller counts an unreachable or NotReady node as away. */
const away = 60;
/** Seconds after which the controller gives up an unproved grant. */
const patienceOf = (mode: Mode): number => (mode === "Restart" ? 455 : 760);

/** Whether the agent has reported in its termination message that it will not fulfil the grant. */
const isRefused = ({ grant, message }: Pod): boolean =>
  grant !== null && message?.key === keyOf(grant) && message.kind !== "proved";

const isLost = (w: World, { unreachable }: Pod): boolean =>
  unreachable > 0 && w.t - unreachable >= away;

/** Whether the controller must still expect the node to change, because of this pod's grant. */
function isAwaited(w: World, m: Machine, pod: Pod): boolean {
  const { t, truth } = w;
  const { grant, uid } = pod;
  // The pod before this one had the grant.
  if (!grant) return t - pod.created < away;
  if (isRefused(pod) || isLost(w, pod)) return false;
  // The agent had fulfilled the grant, and then lost its journal. It restarts nothing.
  if (truth.fulfilled.has(`${m.id} ${grant.rev}/${grant.digest}`)) return false;
  return t - (truth.grantedAt.get(uid) ?? -Infinity) <= patienceOf(modeOf(w, m));
}

/**
 * At most `maxUnavailable` nodes whose agents restart the kubelet have an unproved grant.
 * Exceptions: a readiness proof can be wrong for some seconds, and a killed controller forgets
 * nodes whose pods were deleted during a change.
 */
export function checkWindow(w: World, node: string): void {
  const { api, t, truth } = w;
  const { secret, budget, maxFailures } = api;
  if (!secret) return;
  // The controller's view can be a second old.
  const allowed = Math.max(budgetOf(api), t < truth.lowered.t + 2 ? truth.lowered.budget : 0);
  const most = budget >= 100 ? Infinity : allowed + maxFailures;
  truth.limit.set(secret.digest, Math.max(truth.limit.get(secret.digest) ?? 0, most));
  if (t - truth.lastKill < 200) return;
  // Ignores a grant whose node need not restart the kubelet. The controller is allowed to write
  // such a grant even while `maxUnavailable` nodes are changing.
  const granted = w.machines.get(node);
  if (granted && modeOf(w, granted) !== "Restart") return;
  let count = 0;
  for (const pod of api.pods.values()) {
    const m = w.machines.get(pod.node);
    if (!m || modeOf(w, m) !== "Restart") continue;
    if (pod.unreachable || (!isReachable(w, m) && !m.journal?.begun)) continue;
    if (truth.wrong.has(m.id) || m.blind > t - 10) continue;
    const begun = m.journal?.begun;
    // A node that changes to an older revision counts only during a withdrawal. A rollout publishes
    // newer content only after this node has failed, or was excused because its agent did not
    // start.
    const isOlder = begun?.rev !== secret.rev && secret.digest !== RELEASE;
    const hasFailed = isOlder || api.state.failed.includes(String(m.id));
    const isChanging = begun?.granted === true && !m.dead && t - begun.placed < 90 && !hasFailed;
    // A person wrote this grant, and no agent can begin it.
    if (pod.grant?.digest === PLANTED) continue;
    if ((isOpen(m, pod) || isChanging) && isAwaited(w, m, pod)) count += 1;
  }
  if (count > allowed)
    fail("window", `${count} unproved grants, budget ${allowed}, after the grant to ${node}`);
}

/**
 * Until a node has proved a content, the controller grants this content to only one node at a time,
 * also at the first install.
 */
export function checkAlone(w: World, granted: Pod): void {
  const { secret, budget, pods } = w.api;
  if (!secret || secret.digest === RELEASE || budget >= 100) return;
  // The controller's view can be a second old.
  if (w.t < w.truth.lowered.t + 2) return;
  if (w.truth.proved.has(secret.digest + secret.mode)) return;
  for (const pod of pods.values()) {
    if (pod.uid === granted.uid || pod.grant?.rev !== secret.rev) continue;
    const m = w.machines.get(pod.node);
    if (!m || pod.grant.digest === PLANTED || w.truth.wrong.has(m.id)) continue;
    if (isAwaited(w, m, pod))
      fail("one first", `${granted.node} is granted ${secret.digest} beside ${pod.node}`);
  }
}

/**
 * While the controller's view shows a pause, the controller grants nothing, except in a withdrawal
 * that has begun.
 */
export function checkPaused(w: World, node: string): void {
  const { paused, secret } = w.snapshot ?? w.api;
  if (paused && secret?.digest !== RELEASE) fail("pause", `${node} is granted ${secret?.digest}`);
}

/**
 * Records nodes whose proof is wrong: for 3 s, or in a termination message, they report more than
 * their agents have done. Laws do not count such a node until it has really proved its grant.
 */
export function noteWrong(w: World): void {
  for (const pod of w.api.pods.values()) {
    const m = w.machines.get(pod.node);
    if (!m || !isShown(w, m, pod)) {
      // The proof of a grant counts after a minute without a break.
      if (w.t - (w.truth.shownAt.get(pod.uid) ?? w.t) < 2 * away) w.truth.shownAt.delete(pod.uid);
      continue;
    }
    if (!w.truth.shownAt.has(pod.uid)) w.truth.shownAt.set(pod.uid, w.t);
    if (!isOpen(m, pod) || w.truth.wrong.has(m.id)) continue;
    w.truth.wrong.add(m.id);
    w.truth.slips += 1;
  }
}

/** Whether the pod shows that its grant is fulfilled. */
const isShown = (w: World, m: Machine, { grant, message, ready, since }: Pod): boolean =>
  grant?.word === true
    ? message?.kind === "proved" && message.key === keyOf(grant)
    : ready && since !== grant?.since && w.t - m.readyAt >= 3;

/**
 * An agent restarts its kubelet only for a listed reason, and never twice for the same content,
 * except after a failure.
 */
export function checkRestart(w: World, m: Machine, why: string): void {
  const [kind, rev, attempt] = why.split(" ");
  if (kind === "revive" || kind === "restore" || attempt !== "0") return;
  const same = m.restarts.filter((restart) => restart === why).length;
  if (same > w.truth.retries + w.truth.hand)
    fail("restart once", `${m.name} restarts again for revision ${rev}`);
  const mode = modeOf(w, m);
  const isSameMode = m.journal?.mode === mode && m.fileMode === mode;
  if (m.loaded === m.file && kind === "grant" && isSameMode)
    fail("restart once", `${m.name} restarts for content that its kubelet has`);
}

/**
 * Content that breaks kubelets reaches at most `maxUnavailable` + `maxFailures` nodes. Nodes that
 * take promoted content do not count, because promoted content counts as proved.
 */
export function noteBroken(w: World, m: Machine, content: Digest): void {
  const { truth } = w;
  const { secret } = w.api;
  if (secret?.digest === content && secret.served === secret.rev) return;
  const broken = (truth.broken.get(content) ?? new Set<number>()).add(m.id);
  truth.broken.set(content, broken);
  const limit = truth.limit.get(content) ?? 0;
  // Each new publication of the content and each retry allows as many failures again.
  const times = (truth.published.get(content) ?? 1) + truth.retries;
  // A killed controller forgets that a pod was deleted under a grant.
  const forgotten = truth.lastKill > 0 ? truth.forced : 0;
  const unknown = truth.hand + truth.slips + truth.vanished + forgotten;
  if (broken.size > limit * times + unknown)
    fail("breaking content", `${content} broke ${broken.size} nodes, allowed ${limit} x ${times}`);
}

/** An upgrade to an image that cannot start removes no more agents than the budget. */
export function checkImage(w: World): void {
  const { truth } = w;
  truth.upgradeBudget = Math.max(truth.upgradeBudget, budgetOf(w.api));
  if (truth.lostAgents.size > truth.upgradeBudget)
    fail("image", `${truth.lostAgents.size} agents lost, budget ${truth.upgradeBudget}`);
}

/** A node takes unproved content only by a grant. A joining node takes no withdrawn credential. */
export function checkUngranted(w: World, m: Machine, digest: Digest): void {
  if (!w.truth.proved.has(digest + modeOf(w, m)))
    fail("unproved without a grant", `${m.name} takes ${digest}`);
  const created = w.api.pods.get(m.name)?.created ?? 0;
  digest.split(".").forEach((value, at) => {
    const since = w.truth.withdrawn.get(`${at}:${value}`);
    if (value !== "0" && since !== undefined && created > since + 1)
      fail("withdrawn credential", `${m.name}, of ${created}, takes ${value}, withdrawn ${since}`);
  });
}

/** A node never replaces its content with older content. */
export function checkNotBack(_w: World, m: Machine, rev: number): void {
  if (m.journal && rev < m.journal.rev)
    fail("taken back", `${m.name} goes from ${m.journal.rev} to ${rev}`);
}

/** Status never reports content as served before a canary has proved it. */
export function checkStatus(w: World): void {
  const { secret } = w.api;
  if (secret && !w.truth.proved.has(secret.digest + secret.mode))
    fail("status", `${secret.digest} is served and unproved`);
}

/** Records that the machine has this content in force. */
export function noteFulfilled({ t, truth }: World, m: Machine, rev: number, digest: Digest): void {
  truth.fulfilled.add(`${m.id} ${rev}/${digest}`);
  truth.firstAt.set(rev, truth.firstAt.get(rev) ?? t);
}

/**
 * Content is promoted only after every Ready node has been granted it, except nodes that refused
 * it, and nodes that joined after the first proof.
 */
export function checkPromotion(w: World): void {
  const { secret, pods } = w.api;
  if (!secret || w.admissionUntil > w.t - 2 * away) return;
  const first = w.truth.firstAt.get(secret.rev) ?? w.t;
  for (const { node, created, ready, unreachable, grant } of pods.values())
    // The controller's view can be a second old.
    if (created < first && ready && !unreachable && grant && grant.rev > 0)
      if (grant.rev !== secret.rev && grant.digest !== PLANTED && w.t > first + 2)
        fail("promotion", `${node} has only revision ${grant.rev} when ${secret.rev} is promoted`);
}

/** Seconds after which a node whose kubelet failed gets the same content again. */
const pause = 600;

/** Records a failure that the agent reports. */
export function noteFailure({ t, truth }: World, m: Machine, { rev }: { rev: number }): void {
  truth.failed.set(m.id, { rev, at: t, retries: truth.retries });
}

/** A node that failed gets the same content again only after a pause, or after a retry. */
export function checkRepeated(w: World, pod: Pod): void {
  const { t, truth, machines, api } = w;
  const failure = truth.failed.get(machines.get(pod.node)?.id ?? 0);
  if (failure === undefined || api.secret?.digest === RELEASE) return;
  if (failure.rev !== api.secret?.rev || failure.retries !== truth.retries) return;
  // The next pod of a node does not always show that the pod before it failed.
  if (pod.created < failure.at && t - failure.at < pause)
    fail("repeated failure", `${pod.node} gets ${failure.rev} again after ${t - failure.at} s`);
}

/**
 * The newest grant of a node stays if its pod has shown for two minutes that the grant is
 * fulfilled, whatever then happens to the agent. A controller that was killed has forgotten the
 * proof.
 */
export function checkKept(w: World, pod: Pod, grant: Pod["grant"]): void {
  const { t, truth, api } = w;
  if (!grant || grant.rev !== api.secret?.rev || grant.digest !== api.secret.digest) return;
  const since = truth.shownAt.get(pod.uid) ?? t;
  if (truth.lastKill < 0 && truth.hand === 0 && t - since > 2 * away && !isRefused(pod))
    fail("kept grants", `${pod.node} loses ${grant.rev} after ${t - since} s`);
}

/** Seconds within which a working controller must have published a withdrawal. */
const promptly = 5;

/**
 * The controller publishes a withdrawal of all sources immediately, and of one source as soon as
 * the cluster is calm. The publication never waits for minInterval.
 */
export function checkPrompt(w: World): void {
  const { api, t, truth } = w;
  const want = wantedDigest(api);
  const isOwed = api.ds && api.secret && withdraws(api.secret.digest, want) && !api.paused;
  const isHindered = (): boolean =>
    t < Math.max(w.deadUntil, w.busyUntil, w.lateUntil) || (want !== RELEASE && !isCalm(w));
  truth.owed = isOwed && !isHindered() ? truth.owed + 1 : 0;
  if (truth.owed > promptly) fail("prompt withdrawal", `${want} is not published`);
}

/** Whether every node shows that its grant is fulfilled or refused, or is away. */
const isCalm = (w: World): boolean =>
  [...w.machines.values()].every((m) => {
    const pod = w.api.pods.get(m.name);
    if (!pod) return false;
    if (isRefused(pod) || isLost(w, pod)) return true;
    return !isOpen(m, pod) && pod.ready && w.t - m.readyAt >= 3 && isShown(w, m, pod);
  });

/** Allows one revision for each content, each restored backup and each deleted Secret. */
export function notePublished(w: World, want: Digest): void {
  const { truth } = w;
  truth.revisions += 1;
  truth.published.set(want, (truth.published.get(want) ?? 0) + 1);
  if (truth.revisions > truth.allowed)
    fail("revisions", `${truth.revisions} revisions for ${truth.allowed} causes`);
}

/** Every rollout and every withdrawal ends. Returns what is still missing, or nothing. */
export function missing(w: World): string {
  const { api } = w;
  const want = wantedDigest(api);
  for (const m of w.machines.values()) {
    const node = api.nodes.get(m.name);
    if (!node || (w.churn && w.t - node.created < 400)) continue;
    if (want === RELEASE) {
      if (m.file !== RELEASE && !w.truth.forgotten.has(m.id)) return `${m.name} holds ${m.file}`;
      continue;
    }
    if (m.unstartable) continue;
    const pod = api.pods.get(m.name);
    if (!pod?.ready || pod.template !== api.want.n)
      return `the pod of ${m.name} is not Ready with the wanted template`;
    if (m.file !== want || m.loaded !== want) return `${m.name} has ${m.file}, not ${want}`;
  }
  if (want === RELEASE) return api.ds || api.secret ? "the withdrawal is not complete" : "";
  const { secret } = api;
  if (secret?.digest !== want) return "not published";
  return secret.served === secret.rev ? "" : "not promoted";
}

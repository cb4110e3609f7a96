/** The agent of the model. It follows four rules; `endChange` continues a change that has begun. */
import { exit, restartKubelet } from "./machine.ts";
import { checkNotBack, checkUngranted, noteFailure, noteFulfilled } from "./laws.ts";
import {
  keyOf,
  log,
  modeOf,
  RELEASE,
  type Begun,
  type Digest,
  type Grant,
  type Journal,
  type Machine,
  type Mode,
  type World,
} from "./world.ts";

/** A kubelet rereads config.json within 300 s. */
const REREAD = 305;

const isFulfilled = ({ journal }: Machine, grant: Grant | null, mode: Mode): boolean =>
  !journal?.begun &&
  (!grant ||
    grant.rev === 0 ||
    (journal !== null &&
      journal.rev === grant.rev &&
      journal.digest === grant.digest &&
      journal.mode === mode));

/**
 * An agent is NotReady while its grant is not fulfilled. It is also NotReady after its grant gets a
 * new `since`, until it has answered a probe and the node's clock shows another second.
 */
export function agentIsReady(w: World, m: Machine): boolean {
  const grant = m.mount?.grant ?? null;
  if (m.journal === null || !isFulfilled(m, grant, modeOf(w, m))) return false;
  if (!grant) return true;
  return m.seen === keyOf(grant) && m.answered && w.t + m.skew !== grant.since;
}

/** Simulates one second of an agent, which follows the first rule that applies. */
export function agent(w: World, m: Machine): void {
  const { t } = w;
  if (!m.running || !m.mount || t < m.wait) return;
  // Rule 1: finish a change that has begun, even if the grant or the Secret has changed since.
  if (m.journal?.begun) return endChange(w, m, m.journal, m.journal.begun);
  if (!m.kubelet && !m.kubeletBack) return restartKubelet(w, m, "revive");
  if (!m.kubelet) return;
  const { grant } = m.mount;
  if (grant && m.seen !== keyOf(grant)) {
    m.seen = keyOf(grant);
    m.answered = false;
  }
  // Rule 2: take the content of the slot that the grant names by revision and digest.
  if (grant && grant.rev > 0 && !isFulfilled(m, grant, modeOf(w, m)))
    return fulfil(w, m, grant, m.mount.secret);
  if (grant && grant.rev > 0 && grant.word && m.journal && !hasSaid(m.journal, "proved", grant))
    return end(w, m, m.journal, "proved", grant);
  // Rule 3: if the node has a journal, even an empty one, keep the node's content.
  if (m.journal || t < m.retryAt) return;
  // Rule 4: if the node has no journal, take the served content. If no content is served, write an
  // empty journal.
  const { secret } = m.mount;
  const served = secret.mode === modeOf(w, m) ? secret.served : 0;
  if (served === 0) {
    m.journal = emptyJournal(w, m);
    return;
  }
  const digest = served === secret.rev ? secret.digest : secret.servedDigest;
  checkUngranted(w, m, digest);
  begin(w, m, { rev: served, digest, since: -1, word: false }, false);
}

const hasSaid = ({ said }: Journal, kind: string, grant: Grant): boolean =>
  said === `${kind} ${keyOf(grant)}`;

/** Ends the container with this termination message about the grant. */
function end(
  w: World,
  m: Machine,
  journal: Journal,
  kind: "proved" | "failed" | "unfit" | "behind",
  grant: Grant,
): void {
  journal.said = `${kind} ${keyOf(grant)}`;
  if (kind === "failed") noteFailure(w, m, grant);
  exit(w, m, { kind, key: keyOf(grant), rev: grant.rev });
}

type Mounted = NonNullable<Machine["mount"]>["secret"];

function fulfil(w: World, m: Machine, grant: Grant, secret: Mounted): void {
  const key = keyOf(grant);
  if (m.journal && grant.rev < m.journal.rev) {
    if (!hasSaid(m.journal, "behind", grant)) end(w, m, m.journal, "behind", grant);
    return;
  }
  const isNewest = secret.rev === grant.rev && secret.digest === grant.digest;
  const isServed = secret.served === grant.rev && secret.servedDigest === grant.digest;
  const isOurs = secret.mode === modeOf(w, m) || grant.digest === RELEASE;
  // Waits: the granted content is not mounted yet, or is no longer published.
  if (!isOurs || (!isNewest && !isServed)) return;
  // The agent does not retry a grant that it refused or that failed. A grant with another `since`
  // is a new grant.
  const [dead, kind] = (m.journal?.quarantine ?? "").split(" ");
  if (m.journal && dead === key) {
    const word = kind === "unfit" ? "unfit" : "failed";
    if (!hasSaid(m.journal, word, grant)) end(w, m, m.journal, word, grant);
    return;
  }
  if (m.unfit > w.t && grant.digest !== RELEASE) {
    m.journal ??= emptyJournal(w, m);
    m.journal.quarantine = `${key} unfit`;
    return end(w, m, m.journal, "unfit", grant);
  }
  begin(w, m, grant, true);
}

const emptyJournal = (w: World, m: Machine): Journal => ({
  rev: 0,
  digest: m.file,
  mode: modeOf(w, m),
  begun: null,
  said: "",
  quarantine: "",
});

function begin(w: World, m: Machine, { rev, digest, since }: Grant, granted: boolean): void {
  const mode = modeOf(w, m);
  m.journal ??= emptyJournal(w, m);
  checkNotBack(w, m, rev);
  log(w, `${m.name} begins revision ${rev} (${digest})${granted ? "" : " without a grant"}`);
  // Does not restart the kubelet if the node already has this content in this mode. For empty
  // content the mode does not matter.
  const isSameMode = m.journal.mode === mode || digest === RELEASE;
  if (m.file === digest && m.loaded === digest && isSameMode) return prove(w, m, rev, digest);
  const [old, oldMode] = [m.file, m.fileMode];
  const begun = { rev, digest, since, placed: w.t, attempt: 0, old, oldMode, granted };
  m.journal.begun = { ...begun, restarted: false };
  m.file = digest;
  m.fileMode = mode;
  m.wait = w.t + 1;
}

function prove(w: World, m: Machine, rev: number, digest: Digest): void {
  const mode = modeOf(w, m);
  m.journal = { rev, digest, mode, begun: null, said: m.journal?.said ?? "", quarantine: "" };
  w.truth.proved.add(digest + mode);
  noteFulfilled(w, m, rev, digest);
  w.truth.wrong.delete(m.id);
  log(w, `${m.name} proves revision ${rev} (${digest})`);
}

/** Continues a change: restarts the kubelet up to three times, then restores the old file. */
function endChange(w: World, m: Machine, journal: Journal, change: Begun): void {
  const { t } = w;
  const mode = modeOf(w, m);
  if (mode !== "Restart") {
    if (mode === "Reread" && t - change.placed < REREAD) return;
    m.loaded = m.file;
    return prove(w, m, change.rev, change.digest);
  }
  if (change.attempt >= 3) return restore(w, m, journal, change);
  if (m.kubelet && m.kubeletStart > change.placed) {
    if (t - m.kubeletStart >= 5) prove(w, m, change.rev, change.digest);
    return;
  }
  if (!m.kubelet && m.kubeletBack) return;
  if (change.restarted || !m.kubelet) change.attempt += 1;
  if (change.attempt >= 3) return;
  change.restarted = true;
  restartKubelet(w, m, `${change.granted ? "grant" : "rule4"} ${change.rev} ${change.attempt}`);
  m.wait = t + 1;
}

function restore(w: World, m: Machine, journal: Journal, change: Begun): void {
  if (m.file !== change.old || m.fileMode !== change.oldMode) {
    m.file = change.old;
    m.fileMode = change.oldMode;
    return restartKubelet(w, m, "restore");
  }
  if (!m.kubelet) return;
  journal.begun = null;
  if (!change.granted) {
    // Without a journal, rule 4 applies again at `retryAt`. A new grant applies at once.
    m.journal = null;
    m.retryAt = w.t + 600;
    return;
  }
  const grant = { rev: change.rev, digest: change.digest, since: change.since, word: false };
  journal.quarantine = `${keyOf(grant)} failed`;
  end(w, m, journal, "failed", grant);
}

/** The writes of the controller: performs the actions of its decisions in the world. */
import type { Grant as GrantFacts } from "#contract/grant.ts";
import type { Action, StateFacts } from "#controller/rollout/facts.ts";
import {
  checkAlone,
  checkKept,
  checkPaused,
  checkPromotion,
  checkRepeated,
  checkStatus,
  checkWindow,
  notePublished,
} from "./laws.ts";
import {
  log,
  newState,
  RELEASE,
  servedDigest,
  wantedDigest,
  type Api,
  type Grant,
  type Pod,
  type State,
  type World,
} from "./world.ts";

export type Answer = "done" | "conflict" | "gone" | "busy" | "admission";

/** The controller was killed before a write. */
export class Killed extends Error {}
/** A write of the Secret, the DaemonSet or the state was refused. The controller decides again. */
export class Refused extends Error {}

/**
 * Returns true if the API server performs the write. The controller might be killed before the
 * write.
 */
function goesThrough(w: World): boolean {
  if (w.killIn >= 0) {
    w.killIn -= 1;
    if (w.killIn < 0) throw new Killed();
  }
  return w.busyUntil <= w.t || w.random.once(2);
}

function must(w: World): void {
  if (!goesThrough(w)) throw new Refused();
}

/**
 * Performs the action. `api`: the objects that the controller has read. `answered`: gets the API
 * server's answer to the patch of a pod.
 */
export function perform(
  w: World,
  api: Api,
  action: Action,
  answered: (pod: Pod, answer: Answer) => void,
): void {
  const read = ({ node }: { node: string }): Pod => api.pods.get(node) as Pod;
  switch (action.kind) {
    case "grant":
    case "take-back": {
      const pod = read(action.pod);
      return answered(pod, patch(w, pod, grantOf(action.grant)));
    }
    case "sync":
      return sync(w, read(action.pod));
    case "delete":
      return remove(w, read(action.pod));
    default:
      must(w);
      return write(w, api, action);
  }
}

/** Patches a pod, in the version that the controller has read. */
function patch(w: World, pod: Pod, grant: Grant): Answer {
  const real = w.api.pods.get(pod.node);
  if (real?.uid !== pod.uid) return "gone";
  if (real.rv !== pod.rv) return "conflict";
  if (!goesThrough(w)) return "busy";
  if (w.admissionUntil > w.t && pod.uid % 2 === 0) return "admission";
  const verb = grant.rev > 0 ? "grants" : "takes back with";
  log(w, `controller: ${verb} ${grant.rev} (${grant.digest}) to ${pod.node}`);
  if (grant.rev === 0) checkKept(w, real, real.grant);
  w.truth.grantedAt.set(pod.uid, w.t);
  w.truth.shownAt.delete(pod.uid);
  for (const copy of new Set([real, pod])) {
    copy.grant = { ...grant };
    copy.rv += 1;
  }
  if (grant.rev > 0) {
    checkPaused(w, pod.node);
    checkWindow(w, pod.node);
    checkAlone(w, real);
    checkRepeated(w, real);
  }
  return "done";
}

function sync(w: World, pod: Pod): void {
  const real = w.api.pods.get(pod.node);
  if (real?.uid !== pod.uid || !goesThrough(w)) return;
  real.sync += 1;
  real.rv += 1;
  if (pod !== real) pod.rv += 1;
}

function remove(w: World, pod: Pod): void {
  const real = w.api.pods.get(pod.node);
  if (real?.uid !== pod.uid || !goesThrough(w)) return;
  w.api.pods.delete(pod.node);
  const starts = w.api.ds?.template.starts ?? true;
  if (pod.ready && !starts) w.truth.lostAgents.add(pod.node);
  log(w, `controller: replaces the pod of ${pod.node}`);
}

type Written = Exclude<Action, { kind: "grant" | "take-back" | "sync" | "delete" }>;

/** Writes the Secret, the state or the DaemonSet. */
function write(w: World, api: Api, action: Written): void {
  const { secret } = w.api;
  switch (action.kind) {
    case "publish": {
      const { revision: rev, mode, served } = action;
      const before = served === "nothing" ? null : api.secret;
      const digest = wantedDigest(api);
      const slot = {
        served: before?.served ?? 0,
        servedDigest: before ? servedDigest(before) : "",
      };
      w.old = secret;
      w.api.secret = { rev, digest, mode, ...slot, at: w.t - w.writes };
      log(w, `controller: publishes ${rev} (${digest}), served ${slot.served}`);
      return notePublished(w, digest);
    }
    case "empty-served":
      if (secret) w.api.secret = { ...secret, served: 0, servedDigest: "" };
      return log(w, "controller: empties the served slot");
    case "save":
    case "halt":
      if (action.state.halted && !w.api.state.halted) log(w, "controller: halts");
      w.api.state = structuredClone(stateOf(action.state));
      return;
    case "write-template":
      return writeTemplate(w);
    case "promote":
      if (!secret) return;
      w.old = secret;
      w.api.secret = { ...secret, served: secret.rev, servedDigest: "" };
      log(w, `controller: promotes ${secret.rev}`);
      checkPromotion(w);
      return checkStatus(w);
    case "complete":
      return complete(w, action.isConfirmed);
  }
}

function writeTemplate(w: World): void {
  const { api, truth } = w;
  // A new DaemonSet gives every node an agent, therefore the next withdrawal includes all nodes.
  if (!api.ds) truth.forgotten.clear();
  api.ds = { template: api.want };
  truth.lostAgents.clear();
  // The state still lists the pods that the previous upgrade replaced, at most as many as the
  // budget of that upgrade.
  truth.upgradeBudget = api.state.replaced.length;
  log(w, `controller: writes template ${api.want.n}`);
}

function complete(w: World, isConfirmed: boolean): void {
  const { api, truth } = w;
  if (!api.ds) {
    api.secret = null;
    api.state = newState(0);
    return;
  }
  api.ds = null;
  truth.allowed += 1;
  for (const m of w.machines.values()) {
    m.restarts = [];
    if (!isConfirmed && m.file !== RELEASE) truth.forgotten.add(m.id);
  }
  log(w, "controller: the withdrawal is complete");
}

const grantOf = ({ revision, digest, since, word }: GrantFacts): Grant => ({
  rev: revision,
  digest,
  since: Number(since),
  word,
});

function stateOf({ revision, canary, retry, ...rest }: StateFacts): State {
  const lists = {
    failed: [...rest.failed],
    lost: [...rest.lost],
    replaced: [...rest.replaced],
  };
  const canaryFacts = { canary: canary?.uid ?? "", canaryNode: canary?.node ?? "" };
  return { ...rest, ...lists, ...canaryFacts, rev: revision, retry: Number(retry) };
}

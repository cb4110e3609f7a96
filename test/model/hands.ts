/**
 * The writes of a controller: `realHands` performs them in the world, `recorder` only records them.
 */
import { checkAlone, checkPaused, checkStatus, checkWindow, notePublished } from "./laws.ts";
import {
  log,
  newState,
  RELEASE,
  type Grant,
  type Pod,
  type Secret,
  type State,
  type World,
} from "./world.ts";

export type Answer = "done" | "conflict" | "gone" | "busy" | "admission";
type Publication = Omit<Secret, "at">;

export type Hands = Readonly<{
  publish: (next: Publication) => void;
  emptyServed: () => void;
  save: (state: State) => void;
  patch: (pod: Pod, grant: Grant) => boolean;
  sync: (pod: Pod) => void;
  remove: (pod: Pod) => void;
  template: () => void;
  promote: () => void;
  complete: (isConfirmed: boolean) => void;
}>;

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

/** Tries to patch a pod, in the version that the controller has read. */
function tryPatch(w: World, pod: Pod, grant: Grant): Answer {
  const real = w.api.pods.get(pod.node);
  if (real?.uid !== pod.uid) return "gone";
  if (real.rv !== pod.rv) return "conflict";
  if (!goesThrough(w)) return "busy";
  if (w.admissionUntil > w.t && pod.uid % 2 === 0) return "admission";
  const verb = grant.rev > 0 ? "grants" : "takes back with";
  log(w, `controller: ${verb} ${grant.rev} (${grant.digest}) to ${pod.node}`);
  real.grant = { ...grant };
  real.rv += 1;
  if (pod !== real) {
    pod.grant = { ...grant };
    pod.rv += 1;
  }
  if (grant.rev > 0) {
    checkPaused(w, pod.node);
    checkWindow(w, pod.node);
    checkAlone(w, real);
  }
  return "done";
}

export function realHands(w: World, answered: (pod: Pod, answer: Answer) => void): Hands {
  return {
    publish(next) {
      must(w);
      w.old = w.api.secret;
      w.api.secret = { ...next, at: w.t - w.writes };
      log(w, `controller: publishes ${next.rev} (${next.digest}), served ${next.served}`);
      notePublished(w, next.digest);
    },
    emptyServed() {
      must(w);
      if (w.api.secret) w.api.secret = { ...w.api.secret, served: 0, servedDigest: "" };
      log(w, "controller: empties the served slot");
    },
    save(state) {
      must(w);
      if (state.halted && !w.api.state.halted) log(w, "controller: halts");
      w.api.state = structuredClone(state);
    },
    patch(pod, grant) {
      const answer = tryPatch(w, pod, grant);
      answered(pod, answer);
      return answer === "done";
    },
    sync(pod) {
      const real = w.api.pods.get(pod.node);
      if (real?.uid !== pod.uid || !goesThrough(w)) return;
      real.sync += 1;
      real.rv += 1;
      if (pod !== real) pod.rv += 1;
    },
    remove(pod) {
      const real = w.api.pods.get(pod.node);
      if (real?.uid !== pod.uid || !goesThrough(w)) return;
      w.api.pods.delete(pod.node);
      const starts = w.api.ds?.template.starts ?? true;
      if (pod.ready && !starts) w.truth.lostAgents.add(pod.node);
      log(w, `controller: replaces the pod of ${pod.node}`);
    },
    template() {
      must(w);
      // A new DaemonSet gives every node an agent, therefore the next withdrawal includes all
      // nodes.
      if (!w.api.ds) w.truth.forgotten.clear();
      w.api.ds = { template: w.api.want };
      w.truth.lostAgents.clear();
      // The state still lists the pods that the previous upgrade replaced, at most as many as the
      // budget of that upgrade.
      w.truth.upgradeBudget = w.api.state.replaced.length;
      log(w, `controller: writes template ${w.api.want.n}`);
    },
    promote() {
      must(w);
      const { secret } = w.api;
      if (!secret) return;
      w.old = secret;
      w.api.secret = { ...secret, served: secret.rev, servedDigest: "" };
      log(w, `controller: promotes ${secret.rev}`);
      checkStatus(w);
    },
    complete(isConfirmed) {
      must(w);
      if (!w.api.ds) {
        w.api.secret = null;
        w.api.state = newState(0);
        return;
      }
      w.api.ds = null;
      w.truth.allowed += 1;
      for (const m of w.machines.values()) {
        m.restarts = [];
        if (!isConfirmed && m.file !== RELEASE) w.truth.forgotten.add(m.id);
      }
      log(w, "controller: the withdrawal is complete");
    },
  };
}

/**
 * Records each request as one line. If the state is saved several times, or a pod is patched
 * several times, keeps only the last request.
 */
export function recorder(): Hands & { readonly requests: () => readonly string[] } {
  const notes = new Map<string, string>();
  const note = (key: string, value = ""): void => void notes.set(key, value);
  return {
    publish: ({ rev, digest, mode, served }) =>
      note("publish", `${rev} ${digest} ${mode} ${served}`),
    emptyServed: () => note("empty served"),
    save: (state) => note("save", stateText(state)),
    patch(pod, { rev, digest, since, word }) {
      note(`patch ${pod.node}`, `${rev} ${digest} ${since} ${word}`);
      return true;
    },
    sync: (pod) => note(`sync ${pod.node}`),
    remove: (pod) => note(`delete ${pod.node}`),
    template: () => note("write template"),
    promote: () => note("promote"),
    complete: (isConfirmed) => note("complete", String(isConfirmed)),
    requests: () => [...notes].map(([key, value]) => `${key} ${value}`.trim()).toSorted(),
  };
}

/** The state as text. The text does not depend on the order in which nodes were found. */
function stateText(state: State): string {
  const { rev, word, base, awaited, canary, halted, retry } = state;
  const sets = [state.failed, state.lost, state.replaced].map((one) => one.toSorted().join());
  return JSON.stringify([rev, word, base, awaited, canary, halted, retry, ...sets]);
}

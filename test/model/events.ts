/** Events of a schedule: what people, machines and networks do. */
import { mostRevision } from "#contract/grant.ts";
import { exit } from "./machine.ts";
import {
  budgetOf,
  isOpen,
  join,
  kill,
  leave,
  log,
  PLANTED,
  RELEASE,
  type Machine,
  type Mode,
  type World,
} from "./world.ts";

export const KINDS = [
  ..."join leave away away power replace podDelete podDelete die crash slow blind unfit".split(" "),
  ..."kill kill edit edit edit bad badSilent badSome revert withdraw withdrawOne".split(" "),
  ..."recreate retry upgrade badUpgrade mode budget snapshot restore deleteSecret".split(" "),
  ..."deleteJournal outage busy admission clock pause unstartable".split(" "),
  ..."plant hang unfitAll maxFailures late".split(" "),
];

export type Event = Readonly<{ t: number; kind: string; who: number; n: number }>;

export function apply(w: World, { kind, who, n }: Event): void {
  const names = [...w.machines.keys()];
  const m = w.machines.get(names[who % Math.max(1, names.length)] ?? "");
  log(w, `event: ${kind} ${m?.name ?? ""} ${n}`);
  if (m) onMachine(w, m, kind, n);
  onCluster(w, kind, n, names);
}

function onMachine(w: World, m: Machine, kind: string, n: number): void {
  const { t, api } = w;
  switch (kind) {
    case "leave":
      if (w.machines.size === 1) return;
      noteVanished(w, m);
      return leave(w, m.name);
    case "away":
      m.net = t + 5 + (n % 400);
      return;
    case "power":
      m.power = t + 5 + (n % 300);
      return;
    case "replace":
      noteVanished(w, m);
      return void join(w, m.name);
    case "podDelete": {
      const pod = api.pods.get(m.name);
      if (pod && isOpen(m, pod)) w.truth.forced += 1;
      return void api.pods.delete(m.name);
    }
    case "die":
      if (!m.kubelet) return;
      m.kubelet = false;
      m.kubeletBack = n % 2 || !m.running ? t + 10 : 0;
      return;
    case "crash":
      return m.running ? exit(w, m, { kind: "crash", key: "", rev: 0 }) : undefined;
    case "slow":
      m.slow = t + 1 + (n % 3);
      return;
    case "blind":
      m.blind = t + 1 + (n % 8);
      return;
    case "unfit":
      m.unfit = t + n;
      return;
    case "plant": {
      const pod = api.pods.get(m.name);
      const revision = [api.secret?.rev ?? 1, 1, 1 + n, mostRevision][n % 4] ?? 1;
      if (!pod) return;
      pod.grant = { rev: revision, digest: PLANTED, since: pod.since, word: n % 2 === 1 };
      pod.rv += 1;
      return;
    }
    case "hang":
      m.wait = t + n;
      return;
    case "clock":
      m.skew += (n % 7) - 3;
      return;
    case "unstartable":
      m.unstartable = n % 2 ? "image" : "podless";
      return;
    case "deleteJournal":
      // A running agent writes its journal again, therefore the event has no effect.
      if (m.running) return;
      m.journal = null;
      w.truth.hand += 1;
  }
}

/**
 * Counts a machine whose kubelet the content broke, if its Node is deleted before the controller
 * sees the failure. The controller counts this as a failure only if the node is the canary
 * (docs/inside/decisions/one-object-per-node.md).
 */
function noteVanished({ api, truth }: World, m: Machine): void {
  const pod = api.pods.get(m.name);
  const isBroken = truth.broken.get(pod?.grant?.digest ?? "")?.has(m.id);
  const isKnown = [api.state.canary, ...api.state.failed].includes(String(m.id));
  if (pod && isBroken && isOpen(m, pod) && !isKnown) truth.vanished += 1;
}

function onCluster(w: World, kind: string, n: number, names: readonly string[]): void {
  const { t, api } = w;
  const source = n % 3 === 0 ? "b" : "a";
  const set = (key: "a" | "b", value: number): void => {
    if (api[key] === value) return;
    api[key] = value;
    w.truth.allowed += 1;
  };
  const next = (): number => (w.values += 1);
  switch (kind) {
    case "join":
      return void join(w, `n${next()}`);
    case "outage": {
      const share = n % 2 ? 0.4 : 0.6;
      for (const name of names.slice(0, Math.ceil(names.length * share))) {
        const m = w.machines.get(name);
        if (m) m.net = t + 30 + n;
      }
      return;
    }
    case "kill":
      if (n % 2) kill(w, 1 + (n % 200));
      else w.killIn = n % 7;
      return;
    case "edit":
      return set(source, next());
    case "bad":
    case "badSilent":
    case "badSome": {
      // With `bad` content the kubelet does not start. With `badSilent` content the node stops
      // reporting. `badSome` content breaks half of the nodes, in one of these two ways.
      const silent = kind === "badSilent" || (kind === "badSome" && n % 2 === 0);
      w.bad.set(next(), { silent, percent: kind === "badSome" ? 50 : 100 });
      return set("a", w.values);
    }
    case "revert":
      return set("a", 1);
    case "withdraw":
      set("a", 0);
      return set("b", 0);
    case "withdrawOne":
      return set(source, 0);
    case "recreate":
      return api.a ? undefined : set("a", next());
    case "retry":
      api.retry += 1;
      w.truth.retries += 1;
      return;
    case "upgrade":
    case "badUpgrade":
    case "mode":
      return upgrade(w, kind, next());
    case "budget":
      w.truth.lowered = { t, budget: budgetOf(api) };
      api.budget = [1, 2, 5, 100][n % 4] ?? 1;
      return;
    case "maxFailures":
      api.maxFailures = n % 3;
      return;
    case "late":
      w.lateUntil = t + (n % 10);
      return;
    case "unfitAll":
      for (const m of w.machines.values()) m.unfit = t + n;
      return;
    case "pause":
      api.paused = n % 2 === 0;
      return;
    case "busy":
      w.busyUntil = t + (n % 60);
      return;
    case "admission":
      w.admissionUntil = t + (n % 200);
      return;
    case "snapshot":
      w.saved = structuredClone(api);
      return;
    case "restore":
      return restore(w);
    case "deleteSecret":
      if (!api.secret) return;
      api.secret = null;
      // Allows two more revisions. If the pods were replaced too, no object records any more which
      // revision a node has proved.
      w.truth.allowed += 2;
      w.truth.hand += 1;
  }
}

function upgrade(w: World, kind: "upgrade" | "badUpgrade" | "mode", n: number): void {
  const { api } = w;
  const modes: readonly Mode[] = ["Restart", "CredentialProvider", "Reread"];
  const other = modes[(modes.indexOf(api.want.mode) + 1) % 3] ?? "Restart";
  const mode = kind === "mode" ? other : api.want.mode;
  if (kind === "mode") w.truth.allowed += 1;
  api.want = { n, mode, starts: kind !== "badUpgrade" };
  w.templates.set(n, api.want);
}

/**
 * Restores etcd. Nodes that joined after the backup register again. The Nodes of machines that have
 * left are deleted.
 */
function restore(w: World): void {
  if (!w.saved) return;
  const { want, retry } = w.api;
  // Keeps `want` and `retry`, because the installer applies its manifests again.
  w.api = Object.assign(structuredClone(w.saved), { want, retry });
  kill(w, 0);
  // If the backup is from before the installation, no object shows that nodes have content.
  // Therefore no controller withdraws this content.
  const { ds, secret } = w.saved;
  if (!ds && (!secret || secret.digest === RELEASE))
    for (const { id, file } of w.machines.values()) if (file !== RELEASE) w.truth.forgotten.add(id);
  w.truth.allowed += 2;
  w.truth.hand += 1;
  const { nodes, pods } = w.api;
  for (const { name, id } of w.machines.values())
    if (nodes.get(name)?.uid !== id) {
      nodes.set(name, { name, uid: id, created: w.t });
      pods.delete(name);
    }
  for (const name of Array.from(nodes.keys()))
    if (!w.machines.has(name)) {
      nodes.delete(name);
      pods.delete(name);
    }
  // A node whose pod from the backup can start has its agent again.
  for (const name of w.truth.lostAgents)
    if (w.templates.get(pods.get(name)?.template ?? -1)?.starts) w.truth.lostAgents.delete(name);
  w.truth.withdrawn.clear();
}

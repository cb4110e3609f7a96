/** The DaemonSet controller, the node controller and the kubelets of the model. */
import { agentIsReady } from "./agent.ts";
import { noteBroken } from "./laws.ts";
import {
  between,
  isReachable,
  log,
  RELEASE,
  type Digest,
  type Machine,
  type Pod,
  type World,
} from "./world.ts";

export function newPod(w: World, node: string, template: number): Pod {
  w.ids += 1;
  return {
    uid: w.ids,
    node,
    created: w.t,
    template,
    grant: null,
    sync: 0,
    ready: false,
    since: w.t,
    unreachable: 0,
    message: null,
    lastExit: -9999,
    rv: 1,
  };
}

/** Creates missing pods, and marks pods of nodes that have been silent for 40 s. */
export function controlPlane(w: World): void {
  const { api, t } = w;
  if (!api.ds) return api.pods.clear();
  for (const { name } of api.nodes.values()) {
    const m = w.machines.get(name);
    const pod = api.pods.get(name);
    if (!pod) {
      if (m?.unstartable !== "podless" && w.random.fraction() < 0.7)
        api.pods.set(name, newPod(w, name, api.ds.template.n));
      continue;
    }
    const isSilent = !m || !isReachable(w, m);
    if (m) m.silent = isSilent ? m.silent + 1 : 0;
    // The node controller changes only a condition that is True.
    if (isSilent && (!m || m.silent >= 40) && !pod.unreachable && pod.ready) {
      pod.unreachable = t;
      pod.rv += 1;
    }
    if (!isSilent && pod.unreachable && w.random.fraction() < 0.5) {
      pod.unreachable = 0;
      pod.rv += 1;
    }
  }
}

/** Whether the content breaks this machine's kubelet, once a restart makes it read the file. */
function breaks(w: World, m: Machine, digest: Digest) {
  const bad = w.bad.get(Number(digest.split(".")[0]));
  const hits = bad && m.fileMode === "Restart" && (m.id * 37) % 100 < bad.percent;
  return hits ? bad : undefined;
}

function startKubelet(w: World, m: Machine): boolean {
  const { t } = w;
  if (!m.kubeletBack || t < m.kubeletBack) return false;
  m.kubeletBack = 0;
  const bad = breaks(w, m, m.file);
  if (bad) {
    if (m.journal?.begun?.granted) noteBroken(w, m, m.file);
    if (bad.silent || !m.running) {
      m.dead = true;
      log(w, `${m.name} falls silent`);
    }
    return false;
  }
  m.kubelet = true;
  m.kubeletStart = t;
  m.loaded = m.file;
  m.answered = false;
  // A starting kubelet can report a young container as Ready without a probe.
  if (m.running && t - m.startedAt < 10 && w.random.once(2)) m.blind = t + between(w, 1, 5);
  return true;
}

/** Stops the container of the machine's former pod, and prepares the start of its new pod. */
function takePod(w: World, m: Machine, pod: Pod | undefined): void {
  const { t } = w;
  const isReleased =
    m.journal !== null && m.journal.digest === RELEASE && m.journal.rev > 0 && !m.journal.begun;
  if (m.running && isReleased && !w.api.ds && w.random.fraction() < 0.8) m.journal = null;
  // The mark of a written termination message is in the pod's directory, and disappears with the
  // pod.
  if (m.journal) m.journal.said = "";
  m.running = false;
  m.mount = null;
  m.message = null;
  m.ready = false;
  m.readyAt = t;
  m.since = t + m.skew;
  m.podUid = pod?.uid ?? 0;
  m.template = pod?.template ?? 0;
  m.exits = 0;
  m.lastExit = -9999;
  m.startAt = t + m.startDelay + between(w, 1, 4);
}

/** Plays one second of a machine's kubelet. */
export function kubelet(w: World, m: Machine, pod: Pod | undefined): void {
  const { t } = w;
  if (!m.kubelet && !startKubelet(w, m)) return;
  const isOnline = m.net <= t;
  if (isOnline && m.podUid !== (pod?.uid ?? 0)) takePod(w, m, pod);
  if (!pod || m.podUid !== pod.uid) return;
  const starts = (w.templates.get(pod.template)?.starts ?? true) && m.unstartable !== "image";
  if (!m.running && t >= m.startAt && starts && (m.mount || (isOnline && w.api.secret))) {
    // Only a new pod mounts the Secret here. A restarted container can read the old files.
    if (!m.mount) remount(w, m, pod);
    m.running = true;
    m.startedAt = t;
    m.seen = "";
    m.answered = false;
    m.wait = m.retryAt = 0;
  }
  // After a patch the kubelet syncs the volume within 2 s, in rare cases within 60 s. Without a
  // patch it syncs the volume every 60 to 90 s.
  const patch = JSON.stringify(pod.grant) + pod.sync;
  if (isOnline && m.patchSeen !== patch) {
    m.patchSeen = patch;
    const delay = w.random.fraction() < 0.03 ? between(w, 3, 60) : between(w, 0, 2);
    m.mountAt = Math.min(m.mountAt, t + delay);
  }
  if (isOnline && t >= m.mountAt && m.mount) remount(w, m, pod);
  probe(w, m);
  if (isOnline) report(m, pod);
}

/**
 * Simulates the readiness probe of one second. The kubelet can report a wrong readiness, because
 * the probe is slow or because the kubelet reports Ready without a probe.
 */
function probe(w: World, m: Machine): void {
  const { t } = w;
  const isAsked = m.blind <= t && m.slow <= t;
  const answer = m.running && (m.blind > t || (m.slow <= t && agentIsReady(w, m)));
  if (m.running && !answer && isAsked) m.answered = true;
  if (answer === m.ready) return;
  m.ready = answer;
  m.readyAt = t;
  m.since = t + m.skew;
  // The kubelet syncs a pod whose readiness changes (handleProbeSync in pkg/kubelet/kubelet.go).
  m.mountAt = Math.min(m.mountAt, t + 1);
}

function report(m: Machine, pod: Pod): void {
  if (pod.ready === m.ready && pod.since === m.since && pod.message === m.message) return;
  pod.ready = m.ready;
  pod.since = m.since;
  pod.message = m.message;
  pod.lastExit = m.lastExit;
  pod.rv += 1;
}

function remount(w: World, m: Machine, pod: Pod): void {
  m.mountAt = w.t + between(w, 60, 90);
  // The kubelet's watch can be late, but never returns to an older Secret.
  const { rev, served } = m.mount?.secret ?? {};
  const isLate = m.mount && w.old && w.random.once(10);
  const hasNewest = rev === w.api.secret?.rev && served === w.api.secret?.served;
  const secret = isLate && !hasNewest ? w.old : w.api.secret;
  if (secret) m.mount = { secret: { ...secret }, grant: pod.grant ? { ...pod.grant } : null };
}

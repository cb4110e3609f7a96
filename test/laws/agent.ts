/**
 * A node's agent. It watches the Secret and the node's own object, changes the node's file by the
 * first rule that applies, and reports each result once.
 */
import { restartKubelet } from "./kubelet.ts";
import {
  between,
  chance,
  epoch,
  isOnline,
  log,
  nothing,
  only,
  withoutRemoved,
  type Change,
  type Content,
  type Journal,
  type Machine,
  type Report,
  type Secret,
  type World,
} from "./world.ts";

const restartAttempts = 3;
/** Seconds until a kubelet that is not restarted has certainly read the file. */
const rereadSeconds = 305;

/** Whether the agent can talk to the API server. */
const hasApi = (world: World, machine: Machine): boolean =>
  isOnline(world, machine) && machine.agentOfflineUntil <= world.t;

/** Events of the two watches arrive independently, usually at once, sometimes seconds later. */
function receive(world: World, machine: Machine): void {
  if (!hasApi(world, machine)) return;
  const { t } = world;
  const delay = () => t + (chance(world, 0.05) ? between(world, 1, 8) : 0);
  const secret = world.secrets.get(only);
  if (secret !== undefined && secret !== machine.secret) {
    machine.secretDueAt ||= delay();
    if (t >= machine.secretDueAt) {
      machine.secret = secret;
      machine.secretDueAt = 0;
    }
  }
  const object = world.objects.get(machine.name);
  if (object !== machine.object) {
    machine.objectDueAt ||= delay();
    if (t >= machine.objectDueAt) {
      machine.object = object;
      machine.objectDueAt = 0;
    }
  }
}

/** The published content of a revision. */
function contentOf(secret: Secret, revision: number): Content | undefined {
  if (revision === secret.revision) return secret.content;
  return revision === secret.served ? secret.servedContent : undefined;
}

/** The result of the agent's last work, with the time at which this result was first given. */
function conclude(
  world: World,
  machine: Machine,
  part: Pick<Report, "revision" | "content" | "attempt" | "result">,
): void {
  const { disk, template } = machine;
  const last = disk.report;
  const isSame =
    last?.result === part.result &&
    last.revision === part.revision &&
    last.content === part.content;
  const since = isSame ? last.since : epoch + world.t;
  if (part.attempt > 0) disk.answered = part.attempt;
  if (isSame && last.attempt === part.attempt && last.mode === template?.mode) return;
  disk.report = { ...part, since, mode: template?.mode ?? "Restart" };
  log(world, () => `${machine.name}: ${part.result} ${part.revision} (${part.content})`);
}

/** Rule 2: what leaves, leaves at once, without an order and without a restart. */
function remove(world: World, machine: Machine, secret: Secret): void {
  const { disk } = machine;
  const { journal } = disk;
  // The volume can show an older Secret than the watch did before a restart.
  if (secret.revision <= (journal?.seen ?? 0)) return;
  if (secret.content === nothing) {
    if (disk.file !== nothing) log(world, () => `${machine.name} removes everything`);
    disk.file = nothing;
    const { revision } = secret;
    disk.journal = { revision, content: nothing, seen: revision, change: undefined };
    const attempt = machine.object?.order?.attempt ?? 0;
    conclude(world, machine, { revision, content: nothing, attempt, result: "Removed" });
    return;
  }
  if (journal === undefined) return;
  journal.seen = secret.revision;
  const file = withoutRemoved(disk.file, secret.content);
  if (file !== disk.file) log(world, () => `${machine.name} removes ${disk.file} to ${file}`);
  disk.file = file;
  journal.content = withoutRemoved(journal.content, secret.content);
}

function begin(
  world: World,
  machine: Machine,
  part: Pick<Change, "revision" | "content" | "attempt" | "isAsked">,
): void {
  const { disk } = machine;
  log(world, () => `${machine.name} begins ${part.revision} (${part.content})`);
  disk.journal ??= { revision: 0, content: nothing, seen: 0, change: undefined };
  const { journal } = disk;
  // The kubelet already runs with this content, so a restart shows nothing new.
  if (journal.content === part.content && journal.revision > 0) {
    prove(world, machine, journal, part);
    return;
  }
  const { t } = world;
  journal.change = {
    ...part,
    mode: machine.template?.mode ?? "Restart",
    tries: 0,
    placedAt: t,
    beganAt: t,
    isRestoring: false,
  };
  disk.file = part.content;
}

function prove(
  world: World,
  machine: Machine,
  journal: Journal,
  { revision, content, attempt }: Pick<Change, "revision" | "content" | "attempt">,
): void {
  journal.revision = revision;
  journal.content = content;
  journal.change = undefined;
  world.observer.proved(machine, content);
  conclude(world, machine, { revision, content, attempt, result: "Proved" });
}

/** Rule 1: a change that has begun is ended. */
function endChange(world: World, machine: Machine, journal: Journal, change: Change): void {
  const { t } = world;
  if (change.isRestoring) {
    if (!machine.isKubeletUp) {
      if (machine.kubeletBackAt === 0) restartKubelet(world, machine, "restore");
      return;
    }
    journal.change = undefined;
    // An order for the same content that came during the change is answered as well.
    const order = machine.object?.order;
    const isSame = order?.revision === change.revision && order.content === change.content;
    const { attempt } = isSame ? order : change;
    conclude(world, machine, { ...partOf(change), attempt, result: "Failed" });
    return;
  }
  if (change.mode === "Reread") {
    if (t - change.placedAt >= rereadSeconds) prove(world, machine, journal, change);
    return;
  }
  if (machine.isKubeletUp && machine.kubeletStart > change.placedAt) {
    const probation = world.policy.probation + (t < machine.slowUntil ? 60 : 0);
    if (t - machine.kubeletStart >= probation) prove(world, machine, journal, change);
    return;
  }
  if (!machine.isKubeletUp && machine.kubeletBackAt > 0) return;
  if (change.tries >= restartAttempts) {
    change.isRestoring = true;
    machine.disk.file = journal.content;
    return restartKubelet(world, machine, "restore");
  }
  change.tries += 1;
  world.observer.restarts(machine, change);
  restartKubelet(world, machine, `${change.revision} (${change.content})`);
}

const partOf = ({ revision, content, attempt }: Change) => ({ revision, content, attempt });

/**
 * Another program has overwritten the file, perhaps before the machine came back with its former
 * disk. The file is repaired without a restart.
 */
function repair(world: World, { disk }: Machine, { content, change }: Journal): void {
  const right = change === undefined || change.isRestoring ? content : change.content;
  if (disk.file === right) return;
  disk.file = right;
  if (change === undefined) return;
  // The kubelet may have read the other file, so the restart is owed again.
  change.placedAt = world.t;
  change.tries = 0;
}

/** Rules 3 to 5: the content that the order names, or without a journal the served content. */
function take(world: World, machine: Machine): void {
  const { disk, object, template } = machine;
  const secret = machine.secret ?? (hasApi(world, machine) ? undefined : machine.mounted);
  if (secret === undefined || secret.mode !== template?.mode || secret.content === nothing) return;
  const order = object?.order;
  const isUnfit = machine.unfitUntil > world.t;
  if (order !== undefined) {
    // The node has lost what it has proved, with its disk, or with a withdrawal that was undone.
    const { result, attempt: reported } = object?.report ?? {};
    const isReported = reported === order.attempt;
    const isProved = isReported && result === "Proved";
    const isLost = isProved && (disk.journal?.revision ?? 0) < order.revision;
    // A node that refused is asked again, so that it comes back within the window.
    if ((isReported || order.attempt === disk.answered) && !isLost) return;
    const { revision, attempt } = order;
    const content = contentOf(secret, revision);
    if (content === order.content && revision >= (disk.journal?.revision ?? 0)) {
      if (isUnfit) conclude(world, machine, { ...order, result: "Refused" });
      else begin(world, machine, { revision, content, attempt, isAsked: true });
      return;
    }
  }
  // Without the API server, a node that was asked before waits for its order.
  const isJoining = disk.journal === undefined && (object !== undefined || disk.answered === 0);
  if (!isJoining || secret.served === 0) return;
  const part = { revision: secret.served, content: secret.servedContent, attempt: 0 };
  if (part.content === nothing) return;
  if (isUnfit) return conclude(world, machine, { ...part, result: "Refused" });
  world.observer.joined(machine, part.content, secret);
  begin(world, machine, { ...part, isAsked: false });
}

/**
 * Patches the status of the node's object if it differs. A patch can be refused, lost or delayed.
 */
function sendReport(world: World, machine: Machine): void {
  const { object } = machine;
  const { report } = machine.disk;
  const { t } = world;
  if (object === undefined || report === undefined || t < machine.reportAt) return;
  if (isSameReport(object.report, report) || !hasApi(world, machine)) return;
  if (report.result === "Removed" && machine.secret?.content !== nothing) return;
  // A restarted kubelet must have renewed the node's Lease.
  if (report.result === "Proved" && machine.leaseAt <= machine.kubeletStart) return;
  machine.reportAt = t + between(world, 1, 4);
  const fate = world.random.below(40);
  if (fate === 0) return;
  const { name, uid } = object;
  if (fate === 1) {
    world.delayed.push({ at: t + between(world, 1, 20), name, uid, report });
    return;
  }
  const live = world.objects.get(name);
  if (live === undefined || live.uid !== uid) return;
  world.objects.set(t, name, { ...live, version: ++world.ids, report });
  world.observer.reported(live, report);
}

const isSameReport = (first: Report | undefined, second: Report): boolean =>
  first === second ||
  (first?.revision === second.revision &&
    first.content === second.content &&
    first.attempt === second.attempt &&
    first.result === second.result &&
    first.mode === second.mode);

export function agentTick(world: World, machine: Machine): void {
  if (!machine.isRunning || machine.frozenUntil > world.t) return;
  receive(world, machine);
  const { journal } = machine.disk;
  if (journal !== undefined) repair(world, machine, journal);
  if (journal?.change !== undefined) return endChange(world, machine, journal, journal.change);
  const newest = machine.secret ?? (hasApi(world, machine) ? undefined : machine.mounted);
  if (newest !== undefined) remove(world, machine, newest);
  if (!machine.isKubeletUp) {
    if (machine.kubeletBackAt === 0) restartKubelet(world, machine, "it was dead");
    return;
  }
  take(world, machine);
  sendReport(world, machine);
}

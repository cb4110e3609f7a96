/**
 * When newer content is published, under which revision and mode, and when it is promoted. Pure.
 */
import type { PublishedMode } from "#contract/names.ts";
import { mostRevision } from "#contract/order.ts";
import { type Action, type Snapshot, type View } from "./facts.ts";
import { untilPlace, type Evidence, type Published, type Verdict } from "./evidence.ts";

type Publication = Extract<Action, { kind: "publish" }>;

/** Whether there is newer content, and why and how long it waits. `waits` is 0 if it is due. */
export type Newer = Readonly<{ isNewer: boolean; waits: number; pending: View["pending"] }>;

/**
 * Compares the wanted content with the published content. Content that removes a registry waits for
 * a pause only. A change of the mode alone waits for the template of that mode.
 */
export function newerContent(snapshot: Published): Newer {
  const { secret, target, isPaused } = snapshot;
  if (target.digest !== secret.digest || target.intent !== secret.intent) {
    if (isPaused) return { isNewer: true, waits: Number.POSITIVE_INFINITY, pending: "paused" };
    if (target.removes || target.intent === "release") return due;
    const interval = untilInterval(snapshot);
    if (interval > 0) return { isNewer: true, waits: interval, pending: "interval" };
    const place = untilPlace(snapshot.state, snapshot.now);
    return place > 0 ? { isNewer: true, waits: place, pending: "flapping" } : due;
  }
  if (target.intent === "release") return nothing;
  if (modeToPublish(snapshot) !== secret.mode) return due;
  if (isBehind(snapshot) && !isPaused && untilPlace(snapshot.state, snapshot.now) <= 0) return due;
  return target.mode === secret.mode ? nothing : { ...nothing, pending: "template" };
}

/**
 * True if a node has proved a later revision: etcd was restored, and nodes follow no older order.
 * The same content under a new revision restarts no kubelet.
 */
const isBehind = ({ nodes, secret, now }: Published): boolean =>
  nodes.some(({ object }) => {
    const { result, revision = 0 } = object?.report ?? {};
    return result === "Proved" && revision > secret.revision && revision <= now;
  });

const due: Newer = { isNewer: true, waits: 0, pending: "no" };
const nothing: Newer = { isNewer: false, waits: Number.POSITIVE_INFINITY, pending: "no" };

/** If the clock was set back, the last publication lies in the future, and nothing waits for it. */
const untilInterval = ({ secret, policy, now }: Published): number =>
  secret.publishedAt > now ? 0 : secret.publishedAt + policy.minInterval - now;

/** The publication of the wanted content. */
export function publication(snapshot: Snapshot): Publication {
  const mode = modeToPublish(snapshot);
  return {
    kind: "publish",
    revision: nextRevision(snapshot),
    mode,
    served: servedNext(snapshot, mode),
  };
}

/**
 * The served content remains until the new content is promoted, but not content of another mode:
 * agents of one mode must not get what only those of the other are allowed to have.
 */
function servedNext({ secret, target }: Snapshot, mode: PublishedMode): Publication["served"] {
  const stays =
    secret !== undefined &&
    secret.served > 0 &&
    secret.mode === mode &&
    secret.intent === "apply" &&
    target.intent === "apply";
  if (!stays) return "nothing";
  return secret.served === secret.revision ? "newest" : "same";
}

/**
 * The time is part of a revision, so revisions rise even after etcd was restored, and after both
 * Secrets were deleted.
 */
function nextRevision({ secret, state, now }: Snapshot): number {
  const former = [secret?.revision ?? 0, secret?.served ?? 0, state.revision];
  // The highest number is damaged data: no revision could follow it.
  const highest = Math.max(0, ...former.filter((revision) => revision < mostRevision));
  return Math.max(highest + 1, Math.floor(now));
}

/**
 * The mode of a publication: the template's mode, so that rotations continue while the API server
 * refuses a template of another mode. But newer content of scope Annotated is published before its
 * template, because agents of any other mode would give the credentials to every pod. Content that
 * these agents already have waits for the template, because it would be served to no agent that
 * joins before.
 */
function modeToPublish({ secret, template, target }: Snapshot): PublishedMode {
  if (template === undefined) return target.mode;
  const isNewer =
    secret === undefined ||
    secret.mode !== template.mode ||
    secret.digest !== target.digest ||
    secret.intent !== target.intent;
  if (isNewer && target.mode === "CredentialProviderAnnotated") return target.mode;
  return template.mode ?? secret?.mode ?? target.mode;
}

/** How many nodes must have proved the content before joining nodes get it. */
const enoughProofs = 3;

/** Nodes that had their turn, and do not have the content. */
const unable: ReadonlySet<Verdict> = new Set(["refused", "failed", "silent"]);

/**
 * Whether joining nodes may now get the newest content: three nodes have proved it, or all
 * reachable nodes that can. Nodes that refused or failed cannot.
 */
export function isPromotable(snapshot: Published, { nodes, proved }: Evidence): boolean {
  const { secret, isGuarded } = snapshot;
  if (!isGuarded || secret.intent === "release" || secret.served === secret.revision) return false;
  if (proved >= enoughProofs) return true;
  const able = nodes.filter(
    ({ node: { pod }, verdict }) =>
      pod?.isRunning === true && !pod.isUnreachable && !unable.has(verdict),
  );
  return able.length > 0 && able.every(({ verdict }) => verdict === "current");
}

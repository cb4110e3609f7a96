/**
 * The rollout's decision, in the order of its steps. Pure, and without a memory: one snapshot in,
 * actions out.
 *
 *     held by a pause → publish if missing → retry → evidence → publish newer content
 *     → template → objects → orders → promotion, or the end of a withdrawal
 *
 * Everything that an action depends on is in the state, and the state is saved first.
 */
import { isDeepStrictEqual } from "node:util";
import {
  adoptState,
  aheadSeconds,
  followRetry,
  gather,
  haltOf,
  listOf,
  untilCounted,
  usualTime,
  type Evidence,
  type NodeEvidence,
  type Published,
} from "./evidence.ts";
import type { Action, Decision, SecretFacts, Snapshot, StateFacts } from "./facts.ts";
import { isPromotable, newerContent, publication } from "./publish.ts";
import { completionOf, mayHaveEntries, type Completion } from "./release.ts";
import { upgradeBudget } from "./upgrade.ts";
import { idleView, viewOf } from "./view.ts";
import { untilAskedAgain } from "./waits.ts";
import { fillWindow, orderFor, type Window } from "./window.ts";

/** Decides what to do now. The caller decides again after each change of a watched object. */
export function decide(snapshot: Snapshot): Decision {
  const { secret } = snapshot;
  if (isHeld(snapshot)) return decisionOf([], { ...idleView, pending: "paused" });
  if (secret !== undefined) return decidePublished(snapshot, secret);
  return decisionOf([publication(snapshot)], idleView);
}

/**
 * True if a pause delays the whole decision: the first installation, or a new installation after a
 * withdrawal. Also true if someone deleted or edited global-pull-secret, because the wanted content
 * could then be a change that the pause must delay. But if the wanted content is known to be what
 * the controller last published (`isKnown`), the decision continues.
 */
const isHeld = ({ isPaused, secret, template, target }: Snapshot): boolean =>
  isPaused &&
  target.intent === "apply" &&
  ((secret === undefined && !target.isKnown) ||
    (template === undefined && secret?.intent !== "apply"));

/**
 * A write that failed is tried again after a second. But nothing waits for the template, which the
 * API server might refuse for days, so the caller repeats this write by itself.
 */
function decisionOf(
  actions: readonly Action[],
  view: Decision["view"],
  again = Number.POSITIVE_INFINITY,
): Decision {
  const isUrgent = actions.some(({ kind }) => kind !== "write-template");
  return { actions, again: isUrgent ? 1 : Math.max(1, again), view };
}

function decidePublished(observed: Snapshot, secret: SecretFacts): Decision {
  const adopted = adoptState({ ...observed, secret });
  const snapshot = { ...observed, secret, state: followRetry(observed, adopted) };
  const evidence = gather(snapshot);
  const halt = haltOf(snapshot, evidence);
  const newer = newerContent(snapshot);
  const window = fillWindow({ snapshot, halt }, evidence);
  const completion = completionOf(snapshot, evidence);
  const budget = upgradeBudget(snapshot);
  const view = viewOf(snapshot, evidence, { halt, window, newer });
  const decided = (state: StateFacts, ...actions: Action[]): Decision => {
    const isSame = isDeepStrictEqual(state, observed.state);
    const all = isSame ? actions : [{ kind: "save", state } as const, ...actions];
    const waits = [newer.waits, completion.again, budget.again, window.again];
    return decisionOf(all, view, untilChange(snapshot, evidence, waits));
  };
  if (newer.isNewer && newer.waits <= 0) return decided(evidence.state, publication(snapshot));
  if (completion.isComplete) return decided(evidence.state, ...endOf(snapshot, completion));
  const promotes = halt === undefined && isPromotable(snapshot, evidence);
  return decided(
    stateBefore(evidence, window, promotes),
    ...templateAction(snapshot, budget.maxUnavailable),
    ...objectActions(snapshot),
    ...window.asked.map(
      (node) => ({ kind: "ask", node, order: orderFor(snapshot, node) }) as const,
    ),
    ...(promotes ? [{ kind: "promote" } as const] : []),
  );
}

/**
 * Ends the withdrawal. A node that is left behind needs an object that shows this, because the
 * object stays after all else is deleted. So such a node is first asked for the release.
 */
function endOf(snapshot: Published, { leftBehind }: Completion): readonly Action[] {
  const unmarked = leftBehind.filter(
    ({ object }) => object === undefined || !mayHaveEntries(object),
  );
  if (unmarked.length === 0)
    return [{ kind: "complete", leftBehind: leftBehind.map(({ name }) => name) }];
  return unmarked.map((node) =>
    node.object === undefined
      ? { kind: "create", node }
      : { kind: "ask", node, order: orderFor(snapshot, node) },
  );
}

/** The state that must be saved before the orders and the promotion. */
function stateBefore({ state }: Evidence, { asked }: Window, promotes: boolean): StateFacts {
  const recorded = state.proved ? [] : asked.map(({ uid }) => uid);
  return {
    ...state,
    asked: listOf([...state.asked, ...recorded]),
    served: state.served || promotes,
  };
}

function templateAction({ template }: Published, maxUnavailable: number): readonly Action[] {
  const isWritten = template?.isCurrent === true && template.maxUnavailable === maxUnavailable;
  return isWritten ? [] : [{ kind: "write-template", maxUnavailable }];
}

/** A node without an agent needs no object. A former Node's object must be deleted first. */
function objectActions({ nodes, orphans }: Published): readonly Action[] {
  const former = new Map(orphans.map((orphan) => [orphan.name, orphan]));
  return nodes.flatMap((node): readonly Action[] => {
    const orphan = former.get(node.name);
    if (orphan !== undefined)
      return orphan.object.isDeleting ? [] : [{ kind: "delete", node: orphan }];
    return node.pod?.isDeleting === false && !node.object ? [{ kind: "create", node }] : [];
  });
}

/** Seconds until the passing of time alone can change the decision. */
function untilChange(snapshot: Published, { nodes }: Evidence, waits: readonly number[]): number {
  const times = nodes.flatMap((evidence) => untilNodeChanges(snapshot, evidence));
  return [...waits, ...times].reduce(
    (first, seconds) => (seconds > 0 ? Math.min(first, seconds) : first),
    Number.POSITIVE_INFINITY,
  );
}

function untilNodeChanges(
  snapshot: Published,
  { node, verdict, isAtWork }: NodeEvidence,
): readonly number[] {
  if (verdict === "current") return [];
  const { now, secret } = snapshot;
  const isRelease = secret.intent === "release";
  const since = isRelease ? secret.publishedAt : (node.object?.order?.attempt ?? 0);
  const times = [untilCounted(node, snapshot), node.created - aheadSeconds - now];
  if (node.pod?.isRunning !== true) times.push(secret.publishedAt + usualTime(snapshot) + 1 - now);
  if (isAtWork || verdict === "atWork") times.push(since + usualTime(snapshot) + 1 - now);
  if (verdict === "refused") times.push(untilAskedAgain(node, now));
  return times;
}

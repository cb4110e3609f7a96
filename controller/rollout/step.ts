/**
 * One step towards every node having what is wanted. Writes Secret, ServiceAccount, Role,
 * RoleBinding and DaemonSet, in this order.
 */
import type { V1DaemonSet, V1Secret } from "@kubernetes/client-node";
import type { Intent, Registration } from "#contract/names.ts";
import type { WantedContent } from "../sources/accept.ts";
import type { RolloutContext } from "./context.ts";
import { daemonSet } from "#controller/objects/daemonset/daemonset.ts";
import { decided } from "./decision.ts";
import { ensure, isDrifted } from "#kube/apply/ensure.ts";
import type { Rollouts } from "#controller/rollout/halt/rollouts.ts";
import { takesBack } from "#controller/rollout/halt/source-withdrawal.ts";
import { recall, remember } from "../objects/annotations.ts";
import { nudge } from "./nudge.ts";
import type { Fates, FateCounts } from "#controller/rollout/turn/node-state.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import { owned } from "#kube/client/paths.ts";
import {
  globalSecret,
  newSalt,
  nextRevision,
  publishedDigest,
  readPublished,
} from "../objects/global-secret.ts";
import { role, roleBinding, serviceAccount } from "../objects/rbac.ts";
import { servedContent } from "../objects/served-content.ts";
import { writeState } from "../objects/state.ts";
import type { Strategy } from "#controller/rollout/turn/strategy.ts";
import type { DaemonSetState, Turn } from "#controller/rollout/turn/turn.ts";
import { declaredAsIs, daemonSetState } from "#controller/objects/daemonset/daemonset-state.ts";

export type Progress = Readonly<{
  turn: Turn;
  /** Revision of global-pull-secret, after this step. */
  revision: number;
  published: boolean;
  global: V1Secret;
  /** global-pull-secret-state, after this step. */
  stateSecret: V1Secret | undefined;
  daemonSetState: DaemonSetState | undefined;
  /** Nodes counted by fate, where a survey was needed. With every agent available none is. */
  counts: FateCounts | undefined;
  fates: Fates;
  /** Before this step, every node that can be served had the template's revision. */
  complete: boolean;
  /** Before this step, what is wanted was not what is published: a halt or a pause may hold it. */
  waiting: boolean;
  /** What global-pull-secret tells the nodes, after this step. */
  intent: Intent;
  /** Revision that every node that can be served had last; undefined: none, or withdrawn. */
  served: number | undefined;
  /** What halted, and which nodes are excused. */
  rollouts: Rollouts;
  /** Seconds until the DaemonSet controller may need a nudge. */
  nudgeIn: number | undefined;
}>;

export async function takeStep(
  context: RolloutContext,
  snapshot: Snapshot,
  wanted: WantedContent,
): Promise<Progress> {
  const { cluster, agent } = context;
  const daemonSetState = snapshot.daemonSet && (await stateOf(context, snapshot.daemonSet));
  const { turn, published, publish, state, rollouts, rolled, registers, ...seen } = await decided(
    context,
    snapshot,
    wanted,
    daemonSetState,
  );
  // The state comes first: a halt that is not remembered would publish again what halted.
  const stateSecret = snapshot.state && (await writeState(cluster, snapshot.state, state));
  const revision =
    publish === undefined
      ? (published?.revision ?? 0)
      : nextRevision(published, daemonSetState?.template ?? 0, state.served?.revision ?? 0);
  const kept = published && { ...published, sources: published.sourcesText };
  const content =
    publish === undefined && kept ? kept : { ...(publish ?? wanted), salt: newSalt() };
  const declaration = declarationOf(turn, revision, daemonSetState);
  let global = await ensure<V1Secret>(
    context,
    owned.global,
    snapshot.global,
    globalSecret(
      { ...content, revision },
      {
        registration: registrationIn(registers, declaration),
        mode: agent.delivery.mode,
        served: servedContent({
          served: state.served,
          newest: { intent: content.intent, revision },
          live: snapshot.global,
          published,
          takesBack: takesBack(state.served?.sources, wanted.sources, Object.keys(state.accepted)),
        }),
      },
    ),
  );
  await ensure(context, owned.serviceAccount, snapshot.serviceAccount, serviceAccount);
  await ensure(context, owned.role, snapshot.role, role);
  await ensure(context, owned.roleBinding, snapshot.roleBinding, roleBinding);
  if (declaration.template > 0 || rolled) {
    // Written before the template: from here on a node may hold our entries, and a removal must ask
    // for them back. A Secret that was deleted meanwhile is told anew.
    global = await remember(cluster, global, { ...recall(global), rolled: true });
  }
  const digest = digestFor(declaration.template, { global, revision, daemonSetState });
  const declaredSet = daemonSet(
    agent,
    { revision: declaration.template, digest },
    declaration.strategy,
  );
  const live = await ensure<V1DaemonSet>(context, owned.daemonSet, snapshot.daemonSet, declaredSet);
  const nudgeIn = context.nudgeSeconds(live);
  if (nudgeIn === 0) await nudge(cluster, live, context.now());
  return {
    turn,
    revision,
    published: publish !== undefined,
    global,
    stateSecret,
    daemonSetState,
    intent: content.intent,
    served: state.served?.revision,
    rollouts,
    ...seen,
    nudgeIn,
  };
}

async function stateOf(context: RolloutContext, live: V1DaemonSet): Promise<DaemonSetState> {
  return daemonSetState(live, await isDrifted(context, live, declaredAsIs(live, context.agent)));
}

type Written = Readonly<{
  global: V1Secret;
  revision: number;
  daemonSetState: DaemonSetState | undefined;
}>;

/**
 * Digest for the template. The published revision's comes from the Secret as the API server
 * answered it; a template that is kept keeps its own.
 */
function digestFor(template: number, { global, revision, daemonSetState }: Written): string {
  if (template === 0) return "";
  const published = template === revision ? readPublished(global) : undefined;
  return published === undefined ? (daemonSetState?.digest ?? "") : publishedDigest(published);
}

/**
 * What the Secret says of the registration. It is written before the strategy of a wave, so that a
 * pod of the wave mounts what is true.
 */
function registrationIn(registers: boolean, { strategy }: Declaration): Registration {
  return registers && strategy.stage === "canary" ? "proving" : "proved";
}

type Declaration = { template: number; strategy: Strategy };

function declarationOf(
  turn: Turn,
  revision: number,
  daemonSetState: DaemonSetState | undefined,
): Declaration {
  const template = daemonSetState?.template ?? 0;
  const kept = {
    stage: daemonSetState?.stage ?? "wave",
    maxUnavailable: daemonSetState?.maxUnavailable ?? 1,
  } as const;
  switch (turn.kind) {
    case "roll":
      return {
        template: turn.revision === "published" ? revision : turn.revision,
        strategy: turn.strategy,
      };
    case "wait":
    case "served":
      return { template, strategy: turn.strategy };
    case "survey":
      return { template, strategy: kept };
  }
}

/** Lets the product's decisions control the model's world. */
import { decide } from "#controller/rollout/decide.ts";
import type {
  Decision,
  NodeFacts,
  Snapshot,
  StateFacts,
  Memory,
} from "#controller/rollout/facts.ts";
import type { Grant as Granted } from "#contract/grant.ts";
import { afterRefusal, recordUpdater } from "#controller/rollout/node-state.ts";
import { perform, type Answer } from "./writes.ts";
import {
  fail,
  FORGET,
  RELEASE,
  servedDigest,
  wantedDigest,
  withdraws,
  type Api,
  type Grant,
  type Pod,
  type State,
  type World,
} from "./world.ts";

/** The Nodes that the product has requested so far. */
type Read = { names: Set<string>; all: boolean };

const intentOf = (digest: string) => (digest === RELEASE ? "release" : "apply");

const grantFacts = ({ rev, digest, since, word }: Grant): Granted => ({
  revision: rev,
  digest,
  since: String(since),
  word,
});

const stateFacts = ({ rev, canary, canaryNode, retry, ...rest }: State): StateFacts => ({
  ...rest,
  revision: rev,
  canary: canary === "" ? undefined : { node: canaryNode, uid: canary },
  retry: String(retry),
});

/** The objects as the product sees them. */
function snapshotOf(w: World, api: Api, read: Read): Snapshot {
  const { secret: s, ds } = api;
  const want = wantedDigest(api);
  const byName = new Map<string, NodeFacts | undefined>();
  for (const name of read.all ? api.nodes.keys() : read.names) {
    const node = api.nodes.get(name);
    byName.set(name, node && { uid: String(node.uid), created: node.created });
  }
  return {
    secret: s
      ? {
          revision: s.rev,
          digest: s.digest,
          mode: s.mode,
          intent: intentOf(s.digest),
          served: s.served,
          publishedAt: s.at,
        }
      : undefined,
    state: stateFacts(api.state),
    template: ds
      ? {
          isCurrent: ds.template.n === api.want.n,
          mode: ds.template.mode,
        }
      : undefined,
    pods: [...api.pods.values()].map((pod) => podFacts(w, api, pod)),
    nodes: { byName, all: read.all },
    desired: api.nodes.size,
    target: {
      intent: intentOf(want),
      digest: want,
      // The model does not record which content was published before, therefore the product
      // publishes nothing during a pause.
      isKnown: false,
      mode: api.want.mode,
      withdraws: {
        newest: s !== null && withdraws(s.digest, want),
        served: s !== null && withdraws(servedDigest(s), want),
      },
    },
    policy: {
      maxUnavailable: api.budget >= 100 ? "all" : api.budget,
      maxFailures: api.maxFailures,
      forgetAfter: FORGET,
      minInterval: api.minInterval,
      probation: 5,
    },
    isPaused: api.paused,
    retry: String(api.retry),
  };
}

function podFacts(w: World, api: Api, pod: Pod): Snapshot["pods"][number] {
  const template = w.templates.get(pod.template);
  const { message } = pod;
  const [revision, digest = "", since = ""] = message?.key.split("/") ?? [];
  return {
    uid: String(pod.uid),
    node: pod.node,
    created: pod.created,
    resourceVersion: String(pod.rv),
    isDeleting: false,
    isCurrent: api.ds?.template.n === pod.template,
    mode: template?.mode,
    grant: pod.grant ? grantFacts(pod.grant) : undefined,
    ready: { is: pod.ready, since: String(pod.since) },
    unreachable: pod.unreachable > 0 ? String(pod.unreachable) : undefined,
    terminationMessage:
      message && message.kind !== "crash"
        ? {
            kind: message.kind,
            revision: Number(revision),
            digest,
            since,
            journal: message.journal,
          }
        : undefined,
    lastExit: pod.lastExit,
    waitingReason:
      w.machines.get(pod.node)?.unstartable === "image" ? "ImagePullBackOff" : undefined,
  };
}

export type Rewrite = Readonly<{
  snapshot?: (snapshot: Snapshot) => Snapshot;
  memory?: (memory: Memory) => Memory;
  decision?: (decision: Decision) => Decision;
}>;

/**
 * How the model runs the product. `rewrite`: can switch off one of the product's rules. `isLazy`:
 * the product decides like the real controller, only after a change of an object or when the last
 * decision requested it. If `isLazy` is not set, the product decides every second.
 */
export type Drive = Readonly<{ rewrite: Rewrite; isLazy?: boolean }>;

/**
 * Decides, and reads the Nodes that the decision requests. Repeats this until the decision requests
 * no more Nodes.
 */
export function decided(w: World, api: Api, { snapshot, decision }: Rewrite): Decision {
  const read: Read = { names: new Set(), all: false };
  const now = { steady: w.t + w.clock, api: w.t };
  for (let round = 0; round < 10; round++) {
    const seen = snapshotOf(w, api, read);
    const outcome = decide(snapshot ? snapshot(seen) : seen, w.memory, now);
    const isNew = (name: string): boolean => !read.names.has(name);
    const wantsNames = !read.all && [...outcome.reads.nodes].some(isNew);
    if (!wantsNames && (read.all || !outcome.reads.all))
      return decision ? decision(outcome) : outcome;
    for (const name of outcome.reads.nodes) read.names.add(name);
    if (outcome.reads.all) read.all = true;
  }
  return fail("reads", "the decision keeps requesting Nodes");
}

/** Lets the product decide, if a decision is due. */
export function productWhenDue(w: World, api: Api, drive: Drive): void {
  if (drive.isLazy !== true) return void product(w, api, drive);
  // The controller decides again when one of these objects changes. For Nodes, only their number
  // counts.
  const { nodes, pods, ...watched } = api;
  const objects = JSON.stringify([watched, [...pods], nodes.size]);
  if (w.due.objects === objects && w.t < w.due.at) return;
  // The product decides again if this decision throws.
  w.due = { objects: "", at: w.t };
  const { again } = product(w, api, drive);
  w.due = { objects, at: w.t + again };
}

/** Lets the product decide once, and performs its actions. */
function product(w: World, api: Api, { rewrite }: Drive): Decision {
  if (rewrite.memory) w.memory = rewrite.memory(w.memory);
  const decision = decided(w, api, rewrite);
  if (decision.view.phase === "served" && api === w.api && !w.truth.proved.has(proof(api)))
    fail("status", "a view reports unproved content as served");
  w.memory = decision.memory;
  const note = recordUpdater({
    get grants() {
      return w.memory;
    },
    set grants(memory) {
      w.memory = memory;
    },
  });
  const now = { steady: w.t + w.clock, api: w.t };
  const answered = (pod: Pod, answer: Answer): void => {
    if (answer !== "done") note(String(pod.uid), (seen) => afterRefusal(seen, answer, now));
  };
  checkWrites(decision);
  const unsent = [...decision.actions];
  try {
    for (const action of decision.actions) {
      perform(w, api, action, answered);
      unsent.shift();
    }
  } finally {
    for (const action of unsent)
      if ("pod" in action) note(action.pod.uid, (seen) => afterRefusal(seen, "unsent", now));
  }
  return decision;
}

/** Fails if a decision writes a pod twice, because each write requires the pod's version that was
 * read. */
function checkWrites({ actions }: Decision): void {
  const pods = actions.flatMap((action) => ("pod" in action ? [action.pod.node] : []));
  if (new Set(pods).size < pods.length)
    fail("writes", `a pod is written twice in one decision: ${pods.join()}`);
}

const proof = ({ secret }: Api): string => `${secret?.digest}${secret?.mode}`;

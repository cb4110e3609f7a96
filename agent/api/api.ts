/**
 * The agent's connection to the API server. It watches global-pull-secret and the node's
 * NodePullSecret, and writes the status of that object. Only node:https is used: the client library
 * for Kubernetes would double the agent's memory.
 */
import { isDeepStrictEqual } from "node:util";
import { globalSecretName, namespace } from "#contract/names.ts";
import { connectTo, type Silence } from "./connection.ts";
import { follow } from "./follow.ts";
import {
  dataOf,
  isApiObject,
  isPart,
  type ApiObject,
  type NewReport,
  type Own,
  ownOf,
} from "./objects.ts";
import { wait } from "./pause.ts";
import { openReporter } from "./report.ts";
import { type ApiTrouble, openStreaks } from "./trouble.ts";

export type { ApiTrouble, NewReport, Own };

export type Seen = Readonly<{
  /** The Secret's data, key → base64 text, as last received. `unknown`: never received. */
  secret: "unknown" | "absent" | Readonly<Record<string, string>>;
  /** This node's NodePullSecret. */
  own: "unknown" | "absent" | Own;
}>;

export type ApiOptions = Readonly<{
  /** KUBERNETES_SERVICE_HOST: a name or an address, also of IPv6. */
  host: string;
  /** KUBERNETES_SERVICE_PORT */
  port: number;
  /** Directory with `token` and `ca.crt`. Both are read again for each request. */
  credentials: string;
  node: string;
  signal: AbortSignal;
  /** Called when something in `seen` has changed. */
  changed: () => void;
  /** Called once per kind of lasting trouble, and again only if the kind ended in between. */
  trouble: (trouble: ApiTrouble) => void;
}>;

export type Api = Readonly<{
  seen: () => Seen;
  /**
   * Brings this report into the object's status. At most one request is under way, and the newest
   * report wins. It is sent again until the API server accepts it. It is not sent while the object
   * does not exist, or if the object already has it. `since` is kept while revision, digest, result
   * and code are the same.
   */
  report: (report: NewReport) => void;
  /**
   * When the node's Lease in kube-node-lease was last renewed, in milliseconds since 1970.
   * Undefined if it cannot be read.
   */
  leaseRenewed: () => Promise<number | undefined>;
}>;

/** What tests replace. */
type Timing = Readonly<{
  pause: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Milliseconds that never jump. */
  clock: () => number;
  silence: Silence;
}>;

const usualTiming: Timing = {
  pause: wait,
  clock: () => performance.now(),
  // Two bookmarks and a half.
  silence: { answer: 20_000, watch: 150_000 },
};

const secrets = `/api/v1/namespaces/${namespace}/secrets`;
const nodePullSecrets = `/apis/globalpullsecret.io/v1alpha1/namespaces/${namespace}/nodepullsecrets`;
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

/** Follows both objects until `signal` aborts. */
export function openApi(options: ApiOptions, timing: Partial<Timing> = {}): Api {
  const { node, signal, changed, trouble } = options;
  const { pause, clock, silence } = { ...usualTiming, ...timing };
  const connection = connectTo({ ...options, silence });
  const streakOf = openStreaks(trouble, clock);
  const common = {
    connection,
    clock,
    signal,
    pause: (milliseconds: number) => pause(milliseconds, signal),
  };

  let secret: Seen["secret"] = "unknown";
  let own: Seen["own"] = "unknown";
  let ownVersion = 0;

  function receivedSecret(object: ApiObject | undefined): void {
    const next = object === undefined ? "absent" : dataOf(object);
    if (isDeepStrictEqual(next, secret)) return;
    secret = next;
    changed();
  }

  /** `answer`: to our own write. It can be newer or older than what the watch has shown. */
  function receivedOwn(object: ApiObject | undefined, from: "list" | "watch" | "answer"): void {
    const next = object === undefined ? "absent" : ownOf(object);
    const version = Number(object?.metadata.resourceVersion ?? 0);
    const isSame = typeof next === "object" && typeof own === "object" && next.uid === own.uid;
    if (from === "answer" && !isSame) return;
    if (from !== "list" && isSame && version < ownVersion) return;
    ownVersion = version;
    if (isDeepStrictEqual(next, own)) return;
    own = next;
    changed();
    reporter.changed();
  }

  const reporter = openReporter({
    ...common,
    path: `${nodePullSecrets}/${node}/status`,
    own: () => own,
    accepted: (answer) => isApiObject(answer) && receivedOwn(answer, "answer"),
    streak: streakOf("the report"),
  });
  const secretTarget = {
    collection: secrets,
    name: globalSecretName,
    isNeeded: false,
    received: receivedSecret,
  };
  const ownTarget = {
    collection: nodePullSecrets,
    name: node,
    isNeeded: true,
    received: receivedOwn,
  };
  void follow(secretTarget, { ...common, streak: streakOf("the Secret") });
  void follow(ownTarget, { ...common, streak: streakOf("the NodePullSecret") });

  const leaseStreak = streakOf("the Lease");
  return {
    seen: () => ({ secret, own }),
    report: (report) => reporter.report(report),
    async leaseRenewed() {
      try {
        const lease = await connection.call("GET", `${leases}/${node}`);
        leaseStreak.ended();
        return renewedAt(lease);
      } catch (error) {
        leaseStreak.failed(error);
        return undefined;
      }
    },
  };
}

function renewedAt(lease: unknown): number | undefined {
  const spec = isPart(lease) && isPart(lease["spec"]) ? lease["spec"] : {};
  const renewed = Date.parse(String(spec["renewTime"]));
  return Number.isFinite(renewed) ? renewed : undefined;
}

/**
 * The agent's connection to the API server. It watches global-pull-secret and the node's
 * NodePullSecret, and writes the status of that object. Only node:https is used: the client library
 * for Kubernetes would double the agent's memory.
 */
import type { Report } from "#contract/order.ts";
import type { Own } from "./objects.ts";
import type { ApiTrouble } from "./trouble.ts";

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
  report: (report: Omit<Report, "since" | "time">) => void;
  /**
   * When the node's Lease in kube-node-lease was last renewed, in milliseconds since 1970.
   * Undefined if it cannot be read.
   */
  leaseRenewed: () => Promise<number | undefined>;
}>;

/** Starts to watch, until `signal` aborts. */
export function openApi(_options: ApiOptions): Api {
  return {
    seen: () => ({ secret: "unknown", own: "unknown" }),
    report: () => {},
    leaseRenewed: () => Promise.resolve(undefined),
  };
}

/** All facts for a decision. The kubelet is asked only if the decision requests it. */
import type { ProviderScope } from "#contract/names.ts";
import type { Order } from "#contract/order.ts";
import type { Config } from "./config.ts";
import type { BootTime, Content, Journal, JournalReading } from "../journal/journal.ts";
import type { Contents } from "../delivery/contents.ts";
import type { NodeFile } from "../delivery/config-json/config-json.ts";
import type { Installed } from "../delivery/provider/places.ts";
import type { Runtime } from "../delivery/runtime/plan.ts";
import type { Unit } from "../systemd/unit.ts";

/**
 * The order that the node has to follow. `none`: nothing is asked, the last order is answered, or
 * the node has newer content. `answered`: the last order is answered, and the node has no content
 * of a revision. `unknown`: the API server has not answered since this process began.
 */
export type OrderReading = Order | "none" | "answered" | "unknown";

/**
 * `notAsked`: in modes that restart nothing, the agent does not ask systemd. `unknown`: systemd
 * could not be asked. `outdated`: systemd lacks a property that we need. `absent`: there is no
 * systemd. `unfound`: none of the known units is active, or several are.
 */
export type UnitFact =
  | Unit
  | Readonly<{ notAsked: true }>
  | Readonly<{ unknown: string; outdated?: boolean; absent?: boolean }>
  | Readonly<{ unfound: string }>;

/**
 * The kubelet's healthz. answers: a process of root answers 200 · silent: a process of root accepts
 * the connection, but does not answer 200 · nobody: no process accepts it · foreign: no process of
 * root serves it, so no answer counts.
 */
export type Healthz = "answers" | "silent" | "nobody" | "foreign";

type KubeletFact = Readonly<{
  unit: UnitFact;
  healthz: Healthz;
  /** Without an answer of healthz: whether this process has renewed the node's Lease lately. */
  isLeased: boolean;
}>;

export type Facts = Readonly<{
  /**
   * `restart`: the policy that the flags set for this node's unit, if the unit is known. `scope`:
   * the pods that the credential provider serves; undefined in other modes. `isRuntime`: the mode
   * is Runtime.
   */
  config: Pick<Config, "restart" | "probation" | "healthzPort" | "healthzAddress"> &
    Readonly<{ scope: ProviderScope | undefined; isRuntime: boolean }>;
  /** It can change at any time. */
  order: OrderReading;
  /** Time since boot. Never jumps. */
  time: BootTime;
  /** Whether this is the node's only agent. */
  alone: boolean;
  /** Why the mounted directory does not belong to this kubelet; undefined if it does. */
  elsewhere: string | undefined;
  contents: Contents;
  journal: JournalReading;
  /**
   * The disk does not have the journal, which is this process's copy: it was deleted, or not saved.
   */
  vanished: boolean;
  /** Our folder exists without a journal. */
  leftovers: boolean;
  /** Without a journal: the other programs' bytes that a lost journal has left. */
  theirs: Buffer | undefined;
  file: NodeFile;
  /** For how many milliseconds this process has seen the same bytes of config.json. */
  unchangedFor: number;
  installed: Installed;
  /** containerd's hosts.toml files; undefined if they are not mounted. */
  runtime: Runtime | undefined;
  kubelet: KubeletFact | undefined;
  /**
   * Milliseconds until the agent may write config.json, or record its changes, if another program
   * keeps changing the file.
   */
  writeIn: number;
  /** Why the last write failed, until the next attempt. */
  blocked: string | undefined;
}>;

/** The observations of the last round, for reports. */
export type Observed = Readonly<{
  /** The order on which the step was decided. */
  order: OrderReading;
  journal: Journal | undefined;
  /** The withdrawal in the Secret. */
  release: Pick<Content, "revision" | "digest"> | undefined;
}>;

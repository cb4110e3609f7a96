/**
 * All facts for a decision. Facts that are `undefined` at the start of a round are collected only
 * if the decision requests them.
 */
import type { Named, Order } from "#contract/order.ts";
import type { Config } from "./config.ts";
import type { Journal, JournalReading } from "../journal/journal.ts";
import type { Mounted, Newest } from "../delivery/mount.ts";
import type { NodeFile } from "../delivery/delivery.ts";
import type { Unit } from "../systemd/unit.ts";

/**
 * The order that the node has to follow. `none`: nothing is asked, the last order is answered, or
 * the node has newer content. `answered`: the last order is answered, and the node has no journal.
 * `unknown`: the API server has not answered since this process began.
 */
export type OrderReading = Order | "none" | "answered" | "unknown";

/**
 * `notAsked`: with --restart Never, the agent does not ask systemd. `unknown`: systemd could not be
 * asked. `outdated`: systemd lacks a property that we need. `absent`: there is no systemd.
 * `unfound`: none of the known units is active, or several are.
 */
export type UnitFact =
  | Unit
  | Readonly<{ notAsked: true }>
  | Readonly<{ unknown: string; outdated?: boolean; absent?: boolean }>
  | Readonly<{ unfound: string }>;

export type BootTime = Readonly<{
  /** Changes with each boot. */
  boot: string;
  /** Milliseconds of CLOCK_MONOTONIC. The kubelet times its rereads with the same clock. */
  monotonic: number;
}>;

export type Facts = Readonly<{
  /** `restart`: the policy that the flags set for this node's unit, if the unit is known. */
  config: Pick<Config, "restart" | "probation" | "unit" | "healthzPort" | "healthzAddress">;
  /** It can change at any time. */
  order: OrderReading;
  /** Wall clock, in milliseconds. It can jump, so it is only compared with times in the journal. */
  now: number;
  /** Whether this is the node's only agent. */
  alone: boolean;
  /** Why the mounted directory does not belong to this kubelet; undefined if it does. */
  elsewhere: string | undefined;
  mounted: Mounted | undefined;
  /** The newest content of the Secret; undefined unless it is an acceptable document. */
  newest: Newest | undefined;
  journal: JournalReading;
  /** The journal is missing on the disk. `journal` is the copy that this process read last. */
  vanished: boolean;
  /** Time since boot. Never jumps. */
  time: BootTime;
  /** An unreadable journal was set aside earlier and still exists. */
  lost: boolean;
  /**
   * The journal proves that an answer of the credential provider is not ours. Like our entries in
   * config.json, an answer counts as not ours if there is no journal and none was set aside.
   */
  noAnswer: boolean;
  /** Our folder exists without a journal: the agent was killed while it removed the folder. */
  leftovers: boolean;
  file: NodeFile;
  unit: UnitFact | undefined;
  /**
   * Whether healthz answers. Also true if restarts are off: the agent does not ask healthz then.
   */
  healthy: boolean | undefined;
  /**
   * For how many milliseconds this process has seen the same value, by a clock that never jumps.
   */
  stopwatch: Readonly<{
    /** The bytes of config.json. */
    file: number;
    /** The kubelet runs under its present InvocationID. */
    running: number;
    /** The kubelet runs under its present InvocationID, and healthz answers. */
    healthy: number;
    /** healthz does not answer. Measured only in rounds that also ask systemd. */
    silent: number;
    /** The same start or stop of the unit, or the same job for it, is under way. */
    busy: number;
    /** The present quarantine. */
    quarantine: number;
  }>;
  /**
   * Milliseconds until the agent is allowed to write config.json, if another program keeps changing
   * the file.
   */
  writeIn: number;
  /** Restarts that this process has requested. */
  restarts: number;
  /** Milliseconds since the last of these restarts; infinite if there was none. */
  sinceRestart: number;
  /** The last write of this process failed, for example on a full disk. */
  unwritable: boolean;
}>;

/** The facts at the start of a round. */
export const unasked = {
  mounted: undefined,
  newest: undefined,
  unit: undefined,
  healthy: undefined,
  stopwatch: { running: 0, healthy: 0, silent: 0, busy: 0 },
} as const;

/** The observations of the last round, for reports. */
export type Observed = Readonly<{
  /** The order on which the step was decided. */
  order: OrderReading;
  journal: Journal | undefined;
  /** The withdrawal in the Secret. */
  release: Named | undefined;
}>;

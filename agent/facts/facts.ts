/**
 * Everything that a decision may rest on. What is `undefined` when a look begins is found out only
 * if the decision asks for it.
 */
import type { BootTime } from "../files/boot.ts";
import type { Config } from "../config/config.ts";
import type { Former } from "../journal/former.ts";
import type { JournalReading } from "../journal/journal.ts";
import type { Mounted } from "../delivery/mount.ts";
import type { GrantReading } from "../delivery/volume.ts";
import type { NodeFile } from "../delivery/delivery.ts";
import type { Hides } from "./search.ts";
import type { Unit } from "../systemd/unit.ts";

/**
 * `notAsked`: systemd is not asked, under --restart Never. `unknown`: it could not be asked.
 * `outdated`: it does not know a property that we need. `absent`: there is no systemd. `unfound`:
 * none, or several, of the known units may be the kubelet's.
 */
export type UnitFact =
  | Unit
  | Readonly<{ notAsked: true }>
  | Readonly<{ unknown: string; outdated?: boolean; absent?: boolean }>
  | Readonly<{ unfound: string }>;

export type Facts = Readonly<{
  /** `restart`: what the flags say of this node's unit, as far as it is known. */
  config: Pick<
    Config,
    "restart" | "probation" | "unit" | "probePort" | "healthzPort" | "healthzAddress"
  >;
  /** What the pod may apply; it may change at any time. */
  grant: GrantReading;
  /** The grant, by its key, that this pod has refused. */
  refused: string | undefined;
  /** The grant, by its key, that this pod was Ready with. */
  proved: string | undefined;
  /**
   * Wall clock, milliseconds. It may jump, so it is only compared with times in the journal.
   */
  now: number;
  /** Whether we are the node's only agent. */
  alone: boolean;
  /** Why the mounted directory is not this kubelet's. */
  elsewhere: string | undefined;
  mounted: Mounted | undefined;
  journal: JournalReading;
  /**
   * What was ours before a withdrawal that this pod has ended. Empty unless config.json is, byte
   * for byte, as it was while ours were in force: a single equal entry may be the owner's own.
   */
  former: Former;
  /** The journal is not on the disk: it is what this process read there last. */
  vanished: boolean;
  /** Since the node's boot; never jumps. */
  time: BootTime;
  /** An unreadable journal was set aside earlier, and is still there. */
  lost: boolean;
  /** Our folder is there without a journal: a withdrawal was cut off at its very end. */
  left: boolean;
  file: NodeFile;
  unit: UnitFact | undefined;
  /** The kubelet's healthz answers, or nobody asks, because nothing is restarted. */
  healthy: boolean | undefined;
  /** What a new config.json would hide from the kubelet; asked before we first write one. */
  hides: Hides | undefined;
  /** How long this process has seen the same, in milliseconds of a clock that never jumps. */
  stopwatch: Readonly<{
    /** The bytes of config.json. */
    file: number;
    /** The kubelet running under its present InvocationID. */
    running: number;
    /** … and its healthz answering. */
    healthy: number;
    /** healthz not answering, each time that systemd was asked, too. */
    silent: number;
    /** One start or stop of the unit, or one job for it, under way. */
    busy: number;
    /** The present quarantine. */
    quarantine: number;
  }>;
  /**
   * Milliseconds until config.json may be written again, should another program keep changing it.
   */
  writeIn: number;
  /** Restarts that this process has asked for. */
  restarts: number;
  /** Milliseconds since the last of them; infinite if there was none. */
  sinceRestart: number;
  /** Milliseconds since this process took an old copy out; infinite if it did not. */
  sinceCleaned: number;
  /** This process's last write failed, such as on a full disk. */
  unwritable: boolean;
}>;

/** What a look begins with. */
export const unasked = {
  mounted: undefined,
  unit: undefined,
  healthy: undefined,
  hides: undefined,
  stopwatch: { running: 0, healthy: 0, silent: 0, busy: 0 },
} as const;

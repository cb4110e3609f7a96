/** Everything that a decision may rest on, gathered in one look. */
import type { Config } from "./config.ts";
import type { JournalReading } from "./journal.ts";
import type { Mounted } from "./mounted.ts";
import type { NodeFile } from "./nodefile.ts";
import type { Loaded, Unit } from "./unit.ts";

/** `undefined`: the decision does not need it, nobody was asked. `Loaded`: before config.json is written. */
export type UnitFact = Unit | Loaded | Readonly<{ unknown: string }> | undefined;

export type Facts = Readonly<{
  config: Pick<Config, "revision" | "restart" | "settle" | "unit" | "probePort">;
  /** Wall clock, milliseconds. May jump: only ever compared with what the journal holds, never trusted to go forward. */
  now: number;
  /** Whether we are the node's only agent. */
  alone: boolean;
  mounted: Mounted;
  journal: JournalReading;
  /** An unreadable journal was set aside earlier, and no new one exists yet. */
  lost: boolean;
  /** Our folder is there without a journal: what a drain that was cut off at its very end leaves. */
  left: boolean;
  file: NodeFile;
  unit: UnitFact;
  /** The kubelet's healthz answers; false where nobody asked, since config.json is about to be written or its restart to be asked for. */
  healthy: boolean;
  /** For how long this process has seen the same, milliseconds of a clock that never jumps. */
  steady: Readonly<{
    /** The bytes of config.json. */
    file: number;
    /** The kubelet running under its present InvocationID. */
    running: number;
    /** … and its healthz answering. */
    healthy: number;
    /** The present quarantine. */
    quarantine: number;
  }>;
  /** Milliseconds until config.json may be written again, should another program keep changing it. */
  writeIn: number;
  /** Restarts that this process has asked for. */
  restarts: number;
}>;

/** The outcome of a reconcile, as it is handed to the report. */
import type { Steered } from "./status-reporter.ts";
import type { SourcesVerdict } from "../sources/accept.ts";
import type { Progress } from "../rollout/step.ts";
import type { Snapshot } from "#controller/sources/read/snapshot.ts";
import type { OwnedName } from "#kube/client/paths.ts";
import type { Removal } from "../withdrawal/removal.ts";

/** Where the outcome of a run goes: Events, status, metrics, log. */
export type Report = Readonly<{
  /** Policy is read. */
  begins: (steering: Steered) => void;
  /** `kept`: where the agents stay although the installer wants them elsewhere. */
  directory: (kept: string | undefined, wanted: string) => void;
  /** Nodes that keep agents from looking for files that config.json would hide. */
  unsearched: (nodes: readonly string[]) => void;
  /** `group`: undefined, when nobody else owns the nodes' pull secrets. */
  unsupported: (group: string | undefined, snapshot: Snapshot) => Promise<void>;
  foreign: (names: readonly OwnedName[], snapshot: Snapshot) => Promise<void>;
  verdict: (verdict: SourcesVerdict, snapshot: Snapshot) => Promise<void>;
  progress: (progress: Progress, snapshot: Snapshot) => Promise<void>;
  removal: (removal: Removal, snapshot: Snapshot) => Promise<void>;
  /** A pause, and nothing in force that could be kept. */
  paused: () => void;
  /** Nothing is declared, and nothing of ours is there. */
  idle: () => void;
  /** How the whole run ended. Never rejects. */
  succeeded: () => void;
  failed: (error: unknown) => void;
}>;

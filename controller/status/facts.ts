/** The input of a status: what the controller's last runs found. */
import type { RegistryStatus, SourceStatus } from "#api/global-pull-secret.ts";
import type { ManagementState } from "../policy/policy.ts";
import type { Progress } from "../rollout/step.ts";
import type { Removal } from "../withdrawal/removal.ts";
import type { Versions } from "./served-versions.ts";
import type { TroubleKind } from "./troubles.ts";

/** The verdict on a source. `extra`: one of spec.sources, whose refusal holds up no other. */
export type SourceFacts = Omit<SourceStatus, "servedResourceVersion"> &
  Readonly<{ extra: boolean }>;

export type Stage =
  /** No run has finished reading the cluster yet. */
  | Readonly<{ kind: "starting" }>
  /** Nothing is declared, and nothing of ours is there. */
  | Readonly<{ kind: "nothing" }>
  /** A run that got no further; the troubles tell why, or a pause. */
  | Readonly<{ kind: "blocked" }>
  | Readonly<{ kind: "rollout"; progress: Progress }>
  | Readonly<{ kind: "removal"; removal: Removal }>;

export type StatusFacts = Readonly<{
  /** Generation of the spec that was read. */
  generation: number;
  managementState: ManagementState;
  /** Why it is paused or withdrawn, in a person's words; empty where nobody said. */
  reason: string;
  /** The spec asks for a change that a pause holds. */
  specWaits: boolean;
  stage: Stage;
  /** Everything that lasts, with its message; no credential is in it. */
  troubles: readonly Readonly<{ kind: TroubleKind; message: string }>[];
  /** When the absent additional-pull-secret is withdrawn; undefined when it exists. */
  withdrawsAt: Date | undefined;
  sources: readonly SourceFacts[];
  registries: readonly RegistryStatus[];
  /** Source → the version whose content the last served revision holds. */
  served: Versions;
}>;

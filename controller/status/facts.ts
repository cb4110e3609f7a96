/** What a status is made of: what the runs of the controller found last. */
import type { RegistryStatus, SourceStatus } from "#api/global-pull-secret.ts";
import type { ManagementState } from "../policy/policy.ts";
import type { Progress } from "../rollout/step.ts";
import type { Removal } from "../withdrawal/remove.ts";
import type { Versions } from "./served.ts";
import type { TroubleKind } from "./troubles.ts";

/** A source's verdict. `extra`: one of spec.sources, whose refusal holds up nobody. */
export type SourceFacts = Omit<SourceStatus, "servedResourceVersion"> &
  Readonly<{ extra: boolean }>;

export type Stage =
  /** Nothing has been looked at yet. */
  | Readonly<{ kind: "starting" }>
  /** Nothing is declared, and nothing of ours is there. */
  | Readonly<{ kind: "nothing" }>
  /** A run that got no further: the troubles say why, or a pause. */
  | Readonly<{ kind: "blocked" }>
  | Readonly<{ kind: "rollout"; progress: Progress }>
  | Readonly<{ kind: "removal"; removal: Removal }>;

export type Facts = Readonly<{
  /** Of the spec that was read. */
  generation: number;
  managementState: ManagementState;
  /** Why it is paused or withdrawn, in a person's words; empty where nobody said so. */
  reason: string;
  /** The spec asks for what a pause holds. */
  specWaits: boolean;
  stage: Stage;
  /** What lasts, with what is said of it; no credential is in it. */
  troubles: readonly Readonly<{ kind: TroubleKind; message: string }>[];
  /** additional-pull-secret is absent, and from then on it is withdrawn. */
  withdrawsAt: Date | undefined;
  sources: readonly SourceFacts[];
  registries: readonly RegistryStatus[];
  /** Source → the version of which the last served revision holds the content. */
  served: Versions;
}>;

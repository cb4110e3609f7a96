/** A breakage for each numbered promise. The tests have to notice it. */
import { core } from "./core.ts";
import { fleet } from "./fleet.ts";
import type { Mutant } from "./mutant.ts";
import { sync } from "./sync.ts";

export const mutants: readonly Mutant[] = [...core, ...fleet, ...sync];

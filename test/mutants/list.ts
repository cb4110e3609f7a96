/** All breakages: at least one for each numbered promise. A test must fail for each. */
import { core } from "./core.ts";
import { fleet } from "./fleet.ts";
import type { Mutant } from "./mutant.ts";
import { sync } from "./sync.ts";

export const mutants: readonly Mutant[] = [...core, ...fleet, ...sync];

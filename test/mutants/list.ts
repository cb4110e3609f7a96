/** Every breakage that the tests are held against. */
import { agent } from "./agent.ts";
import { clusters } from "./clusters.ts";
import { fleet } from "./fleet.ts";
import type { Mutant } from "./mutant.ts";
import { node } from "./node.ts";
import { objects } from "./objects.ts";
import { rollout } from "./rollout.ts";
import { sealed } from "./sealed.ts";
import { sync } from "./sync.ts";

export const mutants: readonly Mutant[] = [
  ...objects,
  ...agent,
  ...node,
  ...rollout,
  ...sealed,
  ...fleet,
  ...sync,
  ...clusters,
];

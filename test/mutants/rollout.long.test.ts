/** Deliberate breakages of the rollout. */
import { rollout } from "./rollout.ts";
import { tryEach } from "./trial.ts";

tryEach(rollout);

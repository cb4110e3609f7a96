/** Deliberate breakages of fleets. */
import { fleet } from "./fleet.ts";
import { tryEach } from "./trial.ts";

tryEach(fleet);

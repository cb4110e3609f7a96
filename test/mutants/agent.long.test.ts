/** Deliberate breakages of the agent. */
import { agent } from "./agent.ts";
import { tryEach } from "./trial.ts";

tryEach(agent);

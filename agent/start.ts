/** What the Pod runs: the agent, with the cache that the image's build has left. Without it the agent starts more slowly. */
import { existsSync, readFileSync } from "node:fs";
import { cacheFile, compileAgent, runAgent } from "./code.ts";

runAgent(compileAgent(existsSync(cacheFile) ? readFileSync(cacheFile) : undefined));

/**
 * The agent's bundle beside V8's cache of it. To compile is a third of a start (docs/decisions/0011), so the image's build
 * runs the agent once and keeps what V8 compiled.
 */
import { readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Script } from "node:vm";

/** In the folder of the program that was started. */
const folder = dirname(process.argv[1] ?? "");
const bundle = join(folder, "agent.cjs");
export const cacheFile = join(folder, "agent.cache");

/** `cache`: V8 takes it if it was made of the same bundle by the same V8 (`cachedDataRejected` says), and else compiles. */
export function compileAgent(cache?: Buffer): Script {
  // esbuild writes ASCII, and as such it is read at once, without a search for other characters.
  const source = Module.wrap(readFileSync(bundle, "latin1"));
  return new Script(source, { filename: bundle, ...(cache && { cachedData: cache }) });
}

/** Runs it as Node runs a CommonJS module. */
export function runAgent(script: Script): void {
  const module = { exports: {} };
  const run = script.runInThisContext() as (...args: unknown[]) => void;
  run(module.exports, createRequire(bundle), module, bundle, folder);
}

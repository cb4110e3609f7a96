/**
 * All that tests of the agent need: the agent as it is deployed, a node's directory, and waiting.
 */
export * from "./mounted.ts";
export * from "./node-directory.ts";
export * from "./process.ts";
export * from "./waiting.ts";

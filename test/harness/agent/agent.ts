/** For tests: the agent as it is deployed, a directory for a node, and waiting for both. */
export * from "./mounted.ts";
export * from "./node-directory.ts";
export * from "./process.ts";
export * from "./waiting.ts";

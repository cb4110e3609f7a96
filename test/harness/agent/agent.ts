/** The agent as it is deployed, a directory for a node, and waiting for both, for tests. */
export * from "./mounted.ts";
export * from "./node-directory.ts";
export * from "./process.ts";
export * from "./waiting.ts";

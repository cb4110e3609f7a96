/** The agent as it is deployed, a directory for a node, and waiting for both, for tests. */
export * from "./agent/mounted.ts";
export * from "./agent/node-directory.ts";
export * from "./agent/process.ts";
export * from "./agent/waiting.ts";

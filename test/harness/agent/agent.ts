/** For tests: starts the agent as it is deployed, makes a node's directory, and waits for both. */
export * from "./mounted.ts";
export * from "./node-directory.ts";
export * from "./process.ts";
export * from "./waiting.ts";

/**
 * A control plane and the controller as it is shipped, for tests. The nodes are the
 * model's (test/harness/nodes): what a kubelet does is not what is tested here.
 */
export * from "./plane/agents.ts";
export * from "./plane/cleanup.ts";
export * from "./plane/events.ts";
export * from "./plane/paths.ts";
export * from "./plane/process.ts";
export * from "./plane/requests.ts";
export * from "./plane/secrets.ts";
export * from "./plane/start.ts";

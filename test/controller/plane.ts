/**
 * For tests: a control plane, and the controller as it is shipped. The nodes are simulated
 * (test/harness/nodes), because these tests do not cover the kubelet.
 */
export * from "./plane/agents.ts";
export * from "./plane/cleanup.ts";
export * from "./plane/events.ts";
export * from "./plane/paths.ts";
export * from "./plane/process.ts";
export * from "./plane/requests.ts";
export * from "./plane/secrets.ts";
export * from "./plane/start.ts";

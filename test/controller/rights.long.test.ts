/** All cases of rights.test.ts, also an API server that is away for longer than the Lease. */
await import("./rights.test.ts");

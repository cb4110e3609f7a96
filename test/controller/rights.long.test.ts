/** Rights, and an API server that is away, even for longer than the Lease. */
await import("./rights.test.ts");

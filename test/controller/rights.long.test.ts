/** Rights and the API server's absence, one that outlasts the Lease included. */
await import("./rights.test.ts");

/** Rights and the API server's absence, one that outlasts the Lease included. */
process.env["EVERY_POINT"] = "1";
await import("./rights.test.ts");

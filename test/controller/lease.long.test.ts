/** A leader that is frozen at more than one point of its change. */
process.env["EVERY_POINT"] = "1";
await import("./lease.test.ts");

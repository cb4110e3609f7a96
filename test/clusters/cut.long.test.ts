/** Joins and removals that are killed after each single request. */
process.env["EVERY_POINT"] = "1";
await import("./cut.test.ts");

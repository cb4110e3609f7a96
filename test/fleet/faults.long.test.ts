/** What goes wrong with a fleet's clusters, kills at random moments included. */
process.env["EVERY_POINT"] = "1";
await import("./faults.test.ts");

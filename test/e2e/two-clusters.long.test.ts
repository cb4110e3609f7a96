/** The charts of the roles besides what the sample shows of the same programs. */
process.env["EVERY_POINT"] = "1";
await import("./two-clusters.test.ts");

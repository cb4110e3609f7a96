/** The charts of the roles besides what the sample shows of the same programs. */
await import("./two-clusters.test.ts");

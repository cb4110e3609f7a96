/** The charts of the roles, in addition to what the sample shows of the same programs. */
await import("./two-clusters.test.ts");

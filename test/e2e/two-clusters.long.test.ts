/** All cases of two-clusters.test.ts, also those of the charts of the roles. */
await import("./two-clusters.test.ts");

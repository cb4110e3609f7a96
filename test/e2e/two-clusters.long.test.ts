/** All cases of two-clusters.test.ts, also those that install the chart's roles. */
await import("./two-clusters.test.ts");

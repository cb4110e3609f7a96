/** Upgrade and downgrade, each at rest and in mid-rollout; the sample takes one of each. */
process.env["EVERY_POINT"] = "1";
await import("./releases.test.ts");

/** Odd nodes, joiners and retries while a rollout halts included. */
process.env["EVERY_POINT"] = "1";
await import("./odd.test.ts");

/** Waves, and a kubelet that dies in its probation, which the sample leaves out. */
process.env["EVERY_POINT"] = "1";
await import("./staged.test.ts");

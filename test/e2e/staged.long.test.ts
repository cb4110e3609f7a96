/** Waves, and a kubelet that dies in its probation, which the sample leaves out. */
await import("./staged.test.ts");

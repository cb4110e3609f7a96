/** All cases of disk.test.ts: the disk fails at every call, not only at a sample of the calls. */
await import("./disk.test.ts");

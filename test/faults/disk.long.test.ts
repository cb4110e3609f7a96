/** A disk that fails at every call, instead of at a sample of the calls. */
await import("./disk.test.ts");

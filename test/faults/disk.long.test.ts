/** A disk that fails at every call, instead of at a sample of them. */
await import("./disk.test.ts");

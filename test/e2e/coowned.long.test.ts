/** Others' entries, with agents deleted by force as well. */
await import("./coowned.test.ts");

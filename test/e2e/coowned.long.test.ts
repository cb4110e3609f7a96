/** Entries of other programs, also when agents are deleted by force. */
await import("./coowned.test.ts");

/** All cases of coowned.test.ts, also those that delete agents' pods by force. */
await import("./coowned.test.ts");

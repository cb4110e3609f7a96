/** Others' entries, with agents deleted by force as well. */
process.env["EVERY_POINT"] = "1";
await import("./coowned.test.ts");

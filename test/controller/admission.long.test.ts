/** Other people's admission policies, those that come and go included. */
process.env["EVERY_POINT"] = "1";
await import("./admission.test.ts");

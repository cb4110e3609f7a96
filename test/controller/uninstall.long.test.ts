/** Removals in the orders besides those of the sample. */
process.env["EVERY_POINT"] = "1";
await import("./uninstall.test.ts");

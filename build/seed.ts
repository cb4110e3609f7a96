/** Loaded before each test file where SEED is given: laws repeat the run that has printed it. */
import fc from "fast-check";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env["SEED"]) });

/**
 * Loaded before test files. Laws repeat the run that printed their SEED, and make lists and texts
 * as long as the law allows: by default fast-check stops at about ten.
 */
import fc from "fast-check";

const { SEED } = process.env;

fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  ...(SEED ? { seed: Number(SEED) } : {}),
  defaultSizeToMaxWhenMaxSpecified: true,
});

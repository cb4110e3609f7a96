/**
 * Loaded before test files. Configures the property tests (laws): SEED repeats an earlier run, and
 * lists and texts may be as long as the law allows. By default fast-check stops at about ten.
 */
import fc from "fast-check";

const { SEED } = process.env;

fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  ...(SEED ? { seed: Number(SEED) } : {}),
  defaultSizeToMaxWhenMaxSpecified: true,
});

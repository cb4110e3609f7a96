/**
 * Loaded before test files. Configures the property tests (laws): SEED repeats an earlier run, and
 * generated lists and texts can be as long as the law allows. By default fast-check generates at
 * most about ten items or characters.
 */
import fc from "fast-check";

const { SEED } = process.env;

fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  ...(SEED ? { seed: Number(SEED) } : {}),
  defaultSizeToMaxWhenMaxSpecified: true,
});

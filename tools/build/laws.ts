/**
 * Loaded before each test file. Configures the property tests (laws): SEED repeats an earlier run,
 * and generated lists and texts can be as long as the law allows. By default fast-check generates
 * at most about ten items or characters.
 */
import fc from "fast-check";

const { SEED } = process.env;

fc.configureGlobal({
  ...fc.readConfigureGlobal(),
  ...(SEED ? { seed: Number(SEED) } : {}),
  defaultSizeToMaxWhenMaxSpecified: true,
});

// Only for the process of the test file, not for the programs that the tests start.
delete process.env["NODE_COMPILE_CACHE"];

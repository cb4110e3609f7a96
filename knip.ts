/**
 * `knip` finds code that nothing imports. `knip --production` also finds code that only tests
 * import: it reads only the entries and files that end in an exclamation mark. In this mode, an
 * export may exist for a test if its own file uses the value as well.
 */
const entries = [
  "agent/main.ts",
  "controller/main.ts",
  "fleet/main.ts",
  "tenants/tenant.ts",
  "tenants/management.ts",
  "plugin/main.ts",
  "tools/build/*.ts",
  "tools/*.ts",
  "tools/release/main.ts",
  "tools/install/*.ts",
  "tools/site/main.ts",
  "tools/site/.vitepress/**/*.ts",
  "test/demo/main.ts",
  "bench/main.ts",
  "bench/observe/healthz-poll.ts",
];

export default {
  entry: [...entries.map((entry) => `${entry}!`), "**/*.test.ts"],
  project: ["**/*.ts!", "!**/*.{test,fixture}.ts!", "!test/**!"],
  ignoreExportsUsedInFile: process.argv.includes("--production"),
  ignoreDependencies: ["oxfmt", "oxlint", "oxlint-tsgolint"],
  ignoreBinaries: ["go", "mkfifo", "mount", "nsenter", "script", "umount", "unshare"],
};

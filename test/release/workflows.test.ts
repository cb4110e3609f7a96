/**
 * Checks the workflows in .github with actionlint, in the version that this folder's go.mod pins.
 * Building actionlint takes 20 s.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { goBuild } from "../cluster/kit/go.ts";
import { run } from "../cluster/run.ts";

const here = import.meta.dirname;
const pins = ["go.mod", "go.sum"].map((name) => readFileSync(join(here, name), "utf8"));

test("passes actionlint for every workflow", async () => {
  const path = join(cacheRoot, "release", keyOf(...pins, process.arch), "actionlint");
  const actionlint = await once(path, (draft) =>
    goBuild(here, draft, "github.com/rhysd/actionlint/cmd/actionlint"),
  );
  const workflows = globSync("../../.github/workflows/*.yml", { cwd: here });
  await run([actionlint, "-no-color", ...workflows], { cwd: here });
});

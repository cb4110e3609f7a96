/** With real directories, and in a user namespace whose inotify limits are used up. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

/** Watches a directory and prints hints and errors. */
const watcher = `
import { writeFileSync } from "node:fs";
import { watchDirectories } from ${JSON.stringify(join(import.meta.dirname, "watch.ts"))};
const [directory] = process.argv.slice(1);
const say = (line) => process.stdout.write(line + "\\n");
let ready = false;
const hint = () => {
  if (ready) say("hint"), process.exit();
  ready = true;
  writeFileSync(directory + "/file", "");
};
await watchDirectories([directory], () => true, hint, (why) => (say("deaf " + why), process.exit()));
setTimeout(() => process.exit(), 5000);`;

/** `limit`: a file of /proc/sys/user that is set to 0 for the process. */
function watched(limit?: string): string {
  const directory = mkdtempSync(join(tmpdir(), "gps-watch-"));
  const spent = limit === undefined ? "true" : `echo 0 > /proc/sys/user/${limit}`;
  const script = `${spent} && exec "$0" --input-type=module -e "$1" "$2"`;
  const args = [
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    script,
    process.execPath,
    watcher,
    directory,
  ];
  const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  rmSync(directory, { recursive: true });
  return stdout + stderr;
}

test("turns a change into a hint, and reports which inotify limit was reached if it cannot watch", (t) => {
  if (process.platform !== "linux") return t.skip("needs Linux: limits of inotify");
  if (spawnSync("unshare", ["--user", "--map-root-user", "true"]).status !== 0)
    return t.skip("needs a user namespace of its own: unshare is missing or refused");
  assert.equal(watched(), "hint\n");
  assert.match(watched("max_inotify_instances"), /^deaf .*EMFILE/);
  assert.match(watched("max_inotify_watches"), /^deaf .*ENOSPC/);
});

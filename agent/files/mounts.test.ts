import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { temporary } from "#test/temporary.ts";
import { mountOver, mountsIn, readMounts } from "./mounts.ts";

const text = `21 1 8:1 / / rw,relatime - ext4 /dev/sda rw
30 21 8:1 /lib /host/kubelet rw - ext4 /dev/sda rw
31 30 8:1 /own /host/kubelet/config.json ro,noexec - ext4 /dev/sda rw
32 21 0:5 / /with\\040space ro - tmpfs tmpfs rw
`;

test("finds the nearest mount that contains a path, and compares whole names of folders", () => {
  const over = (path: string) => mountOver(mountsIn(text), path)?.point;
  assert.equal(over("/host/kubelet/config.json"), "/host/kubelet/config.json");
  assert.equal(over("/host/kubelet/config.json.staged"), "/host/kubelet");
  assert.equal(over("/host/kubelets"), "/");
  assert.equal(over("/with space/x"), "/with space");
  assert.deepEqual(mountOver(mountsIn(text), "/host/kubelet/config.json")?.options, [
    "ro",
    "noexec",
  ]);
});

test("reads only the mounts that contain the paths, from a list of any length up to 32 MiB", (t) => {
  const list = join(temporary(t), "mountinfo");
  const pod = (index: number) =>
    `${index} 21 0:${index} / /host/kubelet/pods/é${index}/volumes/token rw - tmpfs tmpfs rw\n`;
  const pods = Array.from({ length: 30_000 }, (_, index) => pod(index + 100)).join("");
  writeFileSync(list, text + pods);
  const points = (...paths: readonly string[]) => readMounts(paths, list).map(({ point }) => point);
  assert.deepEqual(points("/with space"), ["/", "/with space"]);
  const last = "/host/kubelet/pods/é30099/volumes/token";
  assert.deepEqual(points(last, "/with space"), ["/", "/host/kubelet", "/with space", last]);
  writeFileSync(list, Buffer.alloc(32 * 1024 * 1024 + 1, "\n"));
  assert.throws(() => points("/"), /mountinfo has more than 33554432 bytes/);
});

test("refuses a config.json that is a separate mount, as with kind's extraMounts", (t) => {
  const spaces = ["--user", "--map-root-user", "--mount"];
  if (spawnSync("unshare", [...spaces, "true"]).status !== 0)
    return t.skip("needs namespaces of its own: unshare is missing or refused");
  const directory = mkdtempSync(join(tmpdir(), "gps-mount-"));
  for (const name of ["config.json", "host.json"]) writeFileSync(join(directory, name), "{}");
  const program = `
import { readConfigFile } from ${JSON.stringify(join(import.meta.dirname, "../delivery/config-json/config-json.ts"))};
process.stdout.write(JSON.stringify(readConfigFile(process.argv[1] + "/config.json")));`;
  const script =
    'mount --bind "$1/host.json" "$1/config.json" && exec "$0" --input-type=module -e "$2" "$1"';
  const args = [...spaces, "sh", "-c", script, process.execPath, directory, program];
  const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  rmSync(directory, { recursive: true });
  assert.match(stdout, /"refused","why":"it is a mount point/, stderr);
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { temporary } from "#test/temporary.ts";
import { readMounts } from "./mounts.ts";

test("reads the mounts at these points, from a list of more than 32 MiB", (t) => {
  const list = join(temporary(t), "mountinfo");
  const spaces = "\\040".repeat(950);
  const pod = (index: number) =>
    `${index} 21 0:${index} /${spaces} /host/kubelet/pods/é${index} rw - tmpfs tmpfs rw\n`;
  const pods = Array.from({ length: 9000 }, (_, index) => pod(index)).join("");
  assert.ok(pods.length > 32 * 1024 * 1024);
  const first = "32 21 0:5 / /with\\040space ro - tmpfs tmpfs rw\n";
  const last = "33 21 8:1 /lib /host/kubelet rw - ext4 /dev/sda rw";
  writeFileSync(list, first + pods + last);
  // These lines need several reads, which end anywhere in a line.
  const asked = Array.from({ length: 100 }, (_, index) => ({
    device: `0:${index}`,
    source: `/${" ".repeat(950)}`,
    point: `/host/kubelet/pods/é${index}`,
  }));
  const points = ["/with space", "/host/kubelet", ...asked.map(({ point }) => point)];
  assert.deepEqual(readMounts(points, list), [
    { device: "0:5", source: "/", point: "/with space" },
    ...asked,
    { device: "8:1", source: "/lib", point: "/host/kubelet" },
  ]);
});

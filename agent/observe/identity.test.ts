import assert from "node:assert/strict";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { temporary } from "#test/temporary.ts";
import { mountsIn } from "../files/mounts.ts";
import { whyElsewhere, whyOther } from "./identity.ts";

const uid = "3b2f6c1e-4e0e-4f86-9d6b-0a4a37b3b001";
const kubeletDirectory = "/host/kubelet";

/** Lines of mountinfo as runc makes them: device, source and mount point of each mount. */
const list = (...mounts: readonly (readonly [device: string, source: string, point: string])[]) =>
  mountsIn(
    mounts
      .map(
        ([device, source, point], index) =>
          `${98 + index} 95 ${device} ${source} ${point} rw,relatime - ext4 /dev/vda rw,discard`,
      )
      .join("\n"),
  );
const pod = (pods: string) => `${pods}/${uid}/containers/agent/1a2b3c4d`;
/** The volume that covers `pods`. */
const cover = (pods: string) => `${pods}/${uid}/volumes/kubernetes.io~empty-dir/empty`;
const [root, disk] = ["254:0", "0:39"];
const termination = "/dev/termination-log";
const covered = "/host/kubelet/pods";
const standard = "/var/lib/kubelet";

const rows: readonly (readonly [
  where: string,
  mounts: ReturnType<typeof list>,
  why: RegExp | undefined,
  link?: string,
])[] = [
  [
    "the node's disk",
    list(
      [root, standard, kubeletDirectory],
      [root, cover(`${standard}/pods`), covered],
      [root, pod(`${standard}/pods`), termination],
    ),
    undefined,
  ],
  [
    "a disk of its own",
    list(
      [disk, "/", kubeletDirectory],
      [disk, cover("/pods"), covered],
      [disk, pod("/pods"), termination],
    ),
    undefined,
  ],
  [
    "a directory with a separate disk for its pods",
    list(
      [root, standard, kubeletDirectory],
      [disk, "/", covered],
      [disk, cover(""), covered],
      [disk, pod(""), termination],
    ),
    undefined,
  ],
  [
    "a directory whose pods are a bind mount",
    list(
      [root, standard, kubeletDirectory],
      [root, "/data/pods", covered],
      [root, pod("/data/pods"), termination],
    ),
    undefined,
  ],
  [
    "a directory with spaces, whose termination message was removed",
    list(
      [root, "/var/lib/my\\040kubelet", kubeletDirectory],
      [root, `${pod("/var/lib/my\\040kubelet/pods")}//deleted`, termination],
    ),
    undefined,
  ],
  [
    "a directory whose pods are a link on the same disk",
    list(
      [root, standard, kubeletDirectory],
      [root, cover("/data/pods"), "/data/pods"],
      [root, pod("/data/pods"), termination],
    ),
    undefined,
    "/data/pods",
  ],
  [
    "a directory whose pods are a relative link",
    list([root, standard, kubeletDirectory], [root, pod("/var/lib/data/pods"), termination]),
    undefined,
    "../data/pods",
  ],
  [
    "a directory whose pods are a link to another disk",
    list([root, standard, kubeletDirectory], [disk, pod("/pods"), termination]),
    undefined,
    "/mnt/disk/pods",
  ],
  [
    "a directory whose pods are a link to the root of another disk",
    list([root, standard, kubeletDirectory], [disk, pod(""), termination]),
    undefined,
    "/mnt/disk",
  ],
  [
    "a directory whose pods are a link, on a system in a directory of the disk",
    list(
      ["8:4", "/ostree/deploy/fcos/var/lib/kubelet", kubeletDirectory],
      ["8:4", pod("/ostree/deploy/fcos/var/data/pods"), termination],
    ),
    undefined,
    "/var/data/pods",
  ],
  [
    "another directory",
    list([root, standard, kubeletDirectory], [root, pod("/data/kubelet/pods"), termination]),
    /^the kubelet has its pods in \/data\/kubelet\/pods of device 254:0, not in \/var\/lib\/kubelet\/pods of device 254:0$/,
  ],
  [
    "the same path on another disk",
    list([disk, standard, kubeletDirectory], [root, pod(`${standard}/pods`), termination]),
    /of device 254:0, not in .* of device 0:39$/,
  ],
  [
    "a directory that contains the kubelet's",
    list([root, "/var/lib", kubeletDirectory], [root, pod(`${standard}/pods`), termination]),
    /not in \/var\/lib\/pods of/,
  ],
  [
    "another directory whose pods are a link to a third one",
    list([root, standard, kubeletDirectory], [root, pod("/data/kubelet/pods"), termination]),
    /not in \/old\/pods of/,
    "/old/pods",
  ],
  [
    "the directory of another pod",
    list(
      [root, standard, kubeletDirectory],
      [root, pod(`${standard}/pods`).replace(uid, "other"), termination],
    ),
    /^\/dev\/termination-log is not a file of pod 3b2f6c1e/,
  ],
  [
    "no container",
    list([root, standard, kubeletDirectory]),
    /^\/dev\/termination-log is not mounted$/,
  ],
  [
    "a container without the directory",
    list([root, pod(`${standard}/pods`), termination]),
    /^\/host\/kubelet is not mounted$/,
  ],
];
for (const [where, mounts, why, link] of rows)
  test(`${why === undefined ? "accepts" : "refuses"} ${where} as the kubelet's directory`, () => {
    const reason = whyOther(mounts, { uid, kubeletDirectory, link });
    if (why === undefined) assert.equal(reason, undefined);
    else assert.match(reason ?? "accepted", why);
  });

test("reads the mounts, and the link in the mounted directory", (t) => {
  const directory = temporary(t);
  const mountinfo = join(directory, "mountinfo");
  const place = { uid, kubeletDirectory: directory, mountinfo };
  assert.match(whyElsewhere(place) ?? "", /ENOENT/);
  writeFileSync(
    mountinfo,
    `98 95 254:0 ${standard} ${directory} rw - ext4 /dev/vda rw\n` +
      `99 95 254:0 ${pod("/data/pods")} ${termination} rw - ext4 /dev/vda rw\n`,
  );
  mkdirSync(join(directory, "pods"));
  assert.match(whyElsewhere(place) ?? "", /has its pods in \/data\/pods/);
  rmSync(join(directory, "pods"), { recursive: true });
  symlinkSync("/data/pods", join(directory, "pods"));
  assert.equal(whyElsewhere(place), undefined);
  assert.match(whyElsewhere({ ...place, uid: "" }) ?? "", /is not a file of pod/);
});

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { coveredFolders } from "#contract/names.ts";
import { temporary } from "#test/temporary.ts";
import { mountsIn as parsed } from "../files/mounts.ts";
import { mountsIn, podUid } from "#test/harness/agent/node-directory.ts";
import { whyElsewhere, whyOther } from "./identity.ts";

const uid = podUid;
const kubeletDirectory = "/host/kubelet";

/** Lines of mountinfo as runc makes them: device, source and mount point of each mount. */
const list = (...mounts: readonly (readonly [device: string, source: string, point: string])[]) =>
  parsed(
    mounts
      .map(
        ([device, source, point], index) =>
          `${98 + index} 95 ${device} ${source} ${point} rw,relatime - ext4 /dev/vda rw,discard`,
      )
      .join("\n"),
    () => true,
  );
const pod = (pods: string) => `${pods}/${uid}/containers/agent/1a2b3c4d`;
/** The volume that covers these folders. */
const cover = (folders: readonly string[]) =>
  list(
    ...folders.map(
      (folder) => [root, "/pods/1/volumes/1/empty", `/host/kubelet/${folder}`] as const,
    ),
  );
const [root, disk] = ["254:0", "0:39"];
const termination = "/dev/termination-log";
const covered = "/host/kubelet/pods";
const standard = "/var/lib/kubelet";

const rows: readonly (readonly [
  where: string,
  mounts: ReturnType<typeof list>,
  why: RegExp | undefined,
])[] = [
  [
    "the node's disk",
    list([root, standard, kubeletDirectory], [root, pod(`${standard}/pods`), termination]),
    undefined,
  ],
  [
    "a disk of its own",
    list([disk, "/", kubeletDirectory], [disk, pod("/pods"), termination]),
    undefined,
  ],
  [
    "a directory with a separate disk for its pods",
    list([root, standard, kubeletDirectory], [disk, "/", covered], [disk, pod(""), termination]),
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
    "another directory",
    list([root, standard, kubeletDirectory], [root, pod("/data/kubelet/pods"), termination]),
    /^the kubelet has its pods in \/data\/kubelet\/pods of device 254:0, not in \/var\/lib\/kubelet\/pods of device 254:0$/,
  ],
  [
    "another directory with a separate disk for its pods",
    list([root, standard, kubeletDirectory], [disk, pod(""), termination]),
    /^the kubelet has its pods in \/ of device 0:39, not in /,
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
for (const [where, mounts, why] of rows)
  test(`${why === undefined ? "accepts" : "refuses"} ${where} as the kubelet's directory`, () => {
    const reason = whyOther([...mounts, ...cover(coveredFolders)], { uid, kubeletDirectory });
    if (why === undefined) assert.equal(reason, undefined);
    else assert.match(reason ?? "accepted", why);
  });

for (const folder of coveredFolders)
  test(`refuses a directory whose ${folder} are a link, because the covering volume is elsewhere`, () => {
    const mounts = list(
      [root, standard, kubeletDirectory],
      [root, "/pods/1/volumes/1/empty", `/mnt/old/${folder}`],
      [disk, pod(""), termination],
    );
    const others = cover(coveredFolders.filter((other) => other !== folder));
    assert.match(
      whyOther([...mounts, ...others], { uid, kubeletDirectory }) ?? "accepted",
      new RegExp(`^no volume covers /host/kubelet/${folder}; .* not a link$`),
    );
  });

test("reads the mounts of the container", (t) => {
  const directory = temporary(t);
  const mountinfo = join(directory, "mountinfo");
  const place = { uid, kubeletDirectory: directory, mountinfo };
  assert.match(whyElsewhere(place) ?? "", /ENOENT/);
  writeFileSync(mountinfo, mountsIn(directory));
  assert.equal(whyElsewhere(place), undefined);
  assert.match(whyElsewhere({ ...place, uid: "" }) ?? "", /is not a file of pod/);
  assert.match(whyElsewhere({ ...place, kubeletDirectory: "/x" }) ?? "", /\/x is not mounted/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { byDigest } from "./image.ts";

const digest = `sha256:${"a1".repeat(32)}`;
const other = `sha256:${"b2".repeat(32)}`;
const containerd = "containerd://2.2.0";

/** Written image, image ID, runtime → the agents' image. */
const table: readonly (readonly [
  sentence: string,
  written: string,
  imageID: string,
  runtime: string,
  expected: string,
])[] = [
  ["a tag", "r.example/gps:1", `r.example/gps@${digest}`, containerd, `r.example/gps@${digest}`],
  ["no tag", "r.example/gps", `r.example/gps@${digest}`, containerd, `r.example/gps@${digest}`],
  ["a port and a tag", "r:5000/gps:1", `r:5000/gps@${digest}`, containerd, `r:5000/gps@${digest}`],
  ["a port and no tag", "r:5000/gps", `r:5000/gps@${digest}`, containerd, `r:5000/gps@${digest}`],
  [
    "Docker Hub's short name",
    "gps:1",
    `docker.io/library/gps@${digest}`,
    containerd,
    `gps@${digest}`,
  ],
  [
    "a user of Docker Hub",
    "team/gps:1",
    `docker.io/team/gps@${digest}`,
    containerd,
    `team/gps@${digest}`,
  ],
  [
    "another repository, from which the same image was pulled before",
    "r.example/gps:1",
    `mirror.example/gps@${digest}`,
    containerd,
    "r.example/gps:1",
  ],
  [
    "an image that was loaded by hand",
    "gps:1",
    `docker.io/library/import-2026-11-23@${digest}`,
    containerd,
    "gps:1",
  ],
  ["the image's own id", "r.example/gps:1", digest, containerd, "r.example/gps:1"],
  ["nothing", "r.example/gps:1", "", containerd, "r.example/gps:1"],
  [
    "a digest that differs from the written digest",
    `r.example/gps@${digest}`,
    `r.example/gps@${other}`,
    containerd,
    `r.example/gps@${digest}`,
  ],
  [
    "a tag and a digest",
    `r.example/gps:1@${digest}`,
    `r.example/gps@${digest}`,
    containerd,
    `r.example/gps:1@${digest}`,
  ],
  [
    "a digest of CRI-O, which may cover only one platform",
    "r.example/gps:1",
    `r.example/gps@${digest}`,
    "cri-o://1.36.0",
    "r.example/gps:1",
  ],
  [
    "Docker's",
    "r.example/gps:1",
    `docker-pullable://r.example/gps@${digest}`,
    "docker://29.0.0",
    "r.example/gps:1",
  ],
  ["no runtime", "r.example/gps:1", `r.example/gps@${digest}`, "", "r.example/gps:1"],
];
for (const [sentence, written, imageID, runtime, expected] of table)
  test(`${sentence}: agents run ${expected === written ? "the image as written" : "the digest"}`, () =>
    assert.equal(byDigest(written, imageID, runtime), expected));

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { isElsewhere } from "./own-pod.ts";

test("finds the directory of another kubelet by the pod that it lacks", (t) => {
  const kubeletDirectory = mkdtempSync(join(tmpdir(), "gps-own-pod-"));
  t.after(() => rmSync(kubeletDirectory, { recursive: true }));
  mkdirSync(join(kubeletDirectory, "pods", "ours"), { recursive: true });
  mkdirSync(join(kubeletDirectory, "other"));
  const rows = [
    ["ours", undefined],
    ["theirs", "there is no pods/theirs"],
    // A directory beside pods/ is no pod.
    ["other", "there is no pods/other"],
    // An agent that is not told its uid cannot tell.
    ["", undefined],
  ] as const;
  for (const [uid, why] of rows) assert.equal(isElsewhere({ uid, kubeletDirectory }), why, uid);
});

/** kubeadm's file of the kubelet's flags in the hands of kubeadm's own code. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kubeadmFlagsFile } from "#contract/names.ts";
import { flagsIn, toldOf, withFlags, withoutFlags } from "#pullsecret/provider/flags.ts";
import { build, run } from "./oracle.ts";

const endpoint = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock";
const given = [
  `KUBELET_KUBEADM_ARGS="${endpoint} --pod-infra-container-image=pause:3.10"\n`,
  'KUBELET_KUBEADM_ARGS="--v=2 --hostname-override=n1 --pod-infra-container-image=pause:3.10"\n',
  'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=pause:3.10"\n',
];

async function upgraded(text: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "gps-kubeadm-"));
  try {
    writeFileSync(join(directory, kubeadmFlagsFile), text);
    await run(await build("kubeadm"), [directory, "pod-infra-container-image"], "");
    return readFileSync(join(directory, kubeadmFlagsFile), "utf8");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

for (const text of given)
  test(`what an upgrade by kubeadm makes of our flags is ours still, and leaves what it would leave without: ${text.slice(22, 60)}`, async () => {
    const kept = await upgraded(withFlags(text));
    assert.doesNotMatch(kept, /pause/);
    assert.equal(flagsIn(kept), "with");
    assert.equal(toldOf(kept), "ours");
    assert.equal(withoutFlags(kept), await upgraded(text));
  });

/**
 * Checks with kubeadm's own code that an upgrade keeps the flags which docs/use/delivery-node.md
 * writes into kubeadm's file.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kubeadmFile, namesProvider } from "../faults/provider.ts";
import { pageOf } from "../page.ts";
import { build, run } from "./oracle.ts";

const endpoint = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock";
const flagFiles = [
  `KUBELET_KUBEADM_ARGS="${endpoint} --pod-infra-container-image=pause:3.10"\n`,
  'KUBELET_KUBEADM_ARGS="--v=2 --hostname-override=n1 --pod-infra-container-image=pause:3.10"\n',
  'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=pause:3.10"\n',
];
const [flags] = pageOf("use/delivery-node.md").blocksBelow("### kubeadm");

for (const text of flagFiles)
  test(`keeps the flags of the page's snippet when kubeadm upgrades a node with ${text.slice(22, 60)}`, async () => {
    const root = mkdtempSync(join(tmpdir(), "gps-kubeadm-"));
    const directory = join(root, "var/lib/kubelet");
    const file = join(directory, kubeadmFile);
    try {
      mkdirSync(directory, { recursive: true });
      writeFileSync(file, text);
      execFileSync("sh", ["-c", flags?.body ?? ""], { env: { ...process.env, ROOT: root } });
      await run(await build("kubeadm"), [directory, "pod-infra-container-image"], "");
      const content = readFileSync(file, "utf8");
      assert.doesNotMatch(content, /pause/);
      assert.ok(namesProvider(content), content);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

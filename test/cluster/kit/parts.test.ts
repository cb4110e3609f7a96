import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { findProgram } from "./parts.ts";

const goMod = "require (\n\tk8s.io/kubernetes v1.36.3\n\tgo.etcd.io/etcd/server/v3 v3.6.7\n)\n";

test("finds a program only in the pinned version, first in KUBEBUILDER_ASSETS, then on the PATH", (t) => {
  const [assets, path] = [0, 1].map(() => mkdtempSync(join(tmpdir(), "parts-"))) as [
    string,
    string,
  ];
  const before = { ...process.env };
  t.after(() => {
    for (const name of ["KUBEBUILDER_ASSETS", "PATH"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    for (const folder of [assets, path]) rmSync(folder, { recursive: true });
  });
  process.env["KUBEBUILDER_ASSETS"] = assets;
  process.env["PATH"] = `${path}:/usr/bin:/bin`;
  const put = (folder: string, name: string, prints: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${prints}"\n`);
    chmodSync(join(folder, name), 0o755);
  };
  put(path, "kube-apiserver", "Kubernetes v1.36.3");
  assert.equal(findProgram("kube-apiserver", goMod), join(path, "kube-apiserver"));
  put(assets, "kube-apiserver", "Kubernetes v1.36.3");
  assert.equal(findProgram("kube-apiserver", goMod), join(assets, "kube-apiserver"));
  for (const other of ["v1.36.30", "v1.35.3", "v1.36.3-rc.0", ""]) {
    put(path, "kubelet", `Kubernetes ${other}`);
    assert.equal(findProgram("kubelet", goMod), undefined, other);
  }
  put(path, "etcd", "etcd Version: 3.6.7");
  assert.equal(findProgram("etcd", goMod), join(path, "etcd"));
  put(path, "containerd", "containerd v2.2.0");
  assert.equal(findProgram("containerd", goMod), undefined, "it is compiled in seconds");
});

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { providerFiles } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import { withFlags } from "#pullsecret/provider/flags.ts";
import { prospectOf } from "./prospect.ts";

const env = "/var/lib/kubelet/kubeadm-flags.env";
const line = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
const drop = "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf";
const reads = "[Service]\nEnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n";
const kubeadm = { [env]: line, [drop]: reads };
const prepared = {
  [`/var/lib/kubelet/${providerFiles.script}`]: "#!/bin/sh\n",
  [`/var/lib/kubelet/${providerFiles.config}`]: providerConfig([], "Annotated"),
};

const rows: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ["a node of kubeadm's", kubeadm, /^provider: Agent$/],
  ["one that is registered", { ...kubeadm, [env]: withFlags(line) }, /^provider: Agent$/],
  [
    "a unit in /etc",
    { [env]: line, "/etc/systemd/system/kubelet.service": reads },
    /^provider: Agent$/,
  ],
  ["no unit that reads it", { [env]: line }, /^provider: none, no unit/],
  [
    "one that reads another file",
    { [env]: line, [drop]: reads.replace("kubeadm-", "my-") },
    /^provider: none, no unit/,
  ],
  ["no file of kubeadm's", { [drop]: reads }, /^provider: none, it has no .*kubeadm-flags\.env$/],
  [
    "another's provider there",
    { ...kubeadm, [env]: line.replace("--v=2", "--image-credential-provider-config=/x") },
    /^provider: none, .*already$/,
  ],
  [
    "another's provider in arguments that come later",
    {
      ...kubeadm,
      "/etc/default/kubelet": "KUBELET_EXTRA_ARGS=--image-credential-provider-config=/x",
    },
    /^provider: none, \/etc\/default\/kubelet names/,
  ],
  ["a node that was prepared", prepared, /^provider: Preinstalled$/],
  [
    "half of that",
    { [`/var/lib/kubelet/${providerFiles.script}`]: "#!/bin/sh\n" },
    /^provider: none/,
  ],
];
for (const [what, files, wanted] of rows)
  test(`a node's prospect of a credential provider: ${what}`, (t) => {
    const root = mkdtempSync(join(tmpdir(), "gps-prospect-"));
    t.after(() => rmSync(root, { recursive: true }));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    assert.match(prospectOf(root, "/var/lib/kubelet"), wanted);
    assert.match(prospectOf(root, "/data/kubelet"), /^provider: none, it has no/);
  });

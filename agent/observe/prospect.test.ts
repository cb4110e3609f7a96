import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { type TestContext } from "node:test";
import { providerFiles } from "#contract/names.ts";
import { providerConfig } from "#pullsecret/provider/config.ts";
import { withFlags } from "#pullsecret/provider/flags.ts";
import { readInstalled } from "../delivery/provider/installation.ts";
import { readTree } from "../delivery/provider/tree.ts";
import { needsProc } from "../files/needs.fixture.ts";
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

function layNode(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "gps-prospect-"));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

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
    "one that was prepared by kubeadm's file, or registered",
    { ...kubeadm, ...prepared, [env]: withFlags(line) },
    /^provider: Agent, Preinstalled$/,
  ],
  ["one whose kubelet was told of nothing", { ...kubeadm, ...prepared }, /^provider: Agent$/],
  [
    "half of that",
    { [`/var/lib/kubelet/${providerFiles.script}`]: "#!/bin/sh\n" },
    /^provider: none/,
  ],
];
for (const [what, files, wanted] of rows)
  test(`a node's prospect of a credential provider: ${what}`, (t) => {
    const root = layNode(t, files);
    assert.match(prospectOf(root, "/var/lib/kubelet"), wanted);
    assert.match(prospectOf(root, "/data/kubelet"), /^provider: none, it has no/);
  });

const flags = (config: string, bin: string) =>
  `--image-credential-provider-config=${config} --image-credential-provider-bin-dir=${bin}`;
const eks = "/etc/eks/image-credential-provider";
const rhcos = "/usr/libexec/kubelet-image-credential-provider-plugins";
const rancher = "/var/lib/rancher/credentialprovider";
const kubeletUnit = "/etc/systemd/system/kubelet.service";
const reading = (file: string) =>
  `[Service]\nEnvironmentFile=-${file}\nExecStart=/usr/bin/kubelet\n`;

/** What lies on nodes that kubeadm did not set up, as their projects have it: file → text. */
const distributions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  AKS: {
    [kubeletUnit]: reading("/etc/default/kubelet"),
    "/etc/default/kubelet": `KUBELET_FLAGS=${flags("/var/lib/kubelet/credential-provider-config.yaml", "/var/lib/kubelet/credential-provider")}\n`,
    "/var/lib/kubelet/credential-provider-config.yaml": "kind: CredentialProviderConfig\n",
    "/var/lib/kubelet/credential-provider/acr-credential-provider": "",
  },
  EKS: {
    [kubeletUnit]: reading("/etc/eks/kubelet/environment"),
    "/etc/eks/kubelet/environment": `NODEADM_KUBELET_ARGS="${flags(`${eks}/config.json`, eks)}"\n`,
    [`${eks}/config.json`]: "{}",
  },
  GKE: {
    [kubeletUnit]: reading("/etc/default/kubelet"),
    "/etc/default/kubelet": `KUBELET_OPTS="${flags("/etc/srv/kubernetes/cri_auth_config.yaml", "/home/kubernetes/bin")}"\n`,
    "/etc/srv/kubernetes/cri_auth_config.yaml": "kind: CredentialProviderConfig\n",
  },
  k3s: {
    "/etc/systemd/system/k3s-agent.service": "[Service]\nExecStart=/usr/local/bin/k3s agent\n",
    [`${rancher}/config.yaml`]: "kind: CredentialProviderConfig\n",
    [`${rancher}/bin/global-pull-secret`]: "",
    "/var/lib/kubelet/pki/kubelet.crt": "",
  },
  OpenShift: {
    [kubeletUnit]: `${reading("/etc/kubernetes/kubelet-env")}# ${flags("/etc/kubernetes/credential-providers/ecr-credential-provider.yaml", rhcos)}\n`,
    "/etc/kubernetes/kubelet-env": "",
    "/var/lib/kubelet/config.json": "{}",
  },
};
for (const [name, files] of Object.entries(distributions))
  test(
    `${name}: agents register nothing, nothing is prepared, and the node is unfit for both`,
    { skip: needsProc },
    (t) => {
      const root = layNode(t, files);
      assert.equal(
        prospectOf(root, "/var/lib/kubelet"),
        "provider: none, it has no /var/lib/kubelet/kubeadm-flags.env",
      );
      const kubelet = join(root, "var/lib/kubelet");
      assert.match(readTree(kubelet, "All").unfit ?? "", /^kubeadm-flags\.env is missing$/);
      assert.match(readInstalled(kubelet, "All").unfit ?? "", /^pull-secret-provider is missing$/);
    },
  );

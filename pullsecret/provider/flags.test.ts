import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { flagsIn, toldOf, withFlags, withoutFlags } from "./flags.ts";

const files: readonly string[] = [
  'KUBELET_KUBEADM_ARGS=""\n',
  'KUBELET_KUBEADM_ARGS="--v=2"',
  'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/x.sock --v=2"\n',
  '# by hand\nKUBELET_KUBEADM_ARGS="--a=$1 --b=\\"q\\""  \nOTHER="x"\n',
];
for (const file of files)
  test(`flags are put in once, come last, and leave nothing behind: ${JSON.stringify(file)}`, () => {
    assert.equal(flagsIn(file), "without");
    const now = withFlags(file);
    assert.equal(flagsIn(now), "with");
    const [, command = ""] = /^KUBELET_KUBEADM_ARGS="(.*)"/m.exec(now) ?? [];
    assert.equal(toldOf(`/usr/bin/kubelet ${command}`), "ours");
    assert.equal(withoutFlags(now), file);
  });

test("what others put into the line meanwhile stays when ours go", () => {
  const before = 'KUBELET_KUBEADM_ARGS="--v=2"\n';
  const after = withFlags(before).replace("--v=2", "--v=4").replace('"\n', ' --x=y"\n');
  assert.equal(withoutFlags(after), 'KUBELET_KUBEADM_ARGS="--v=4 --x=y"\n');
});

test("a line that kubeadm has sorted meanwhile has ours still, and not when they go", () => {
  const now = withFlags('KUBELET_KUBEADM_ARGS="--v=2 --a=b"\n');
  const [, args = ""] = /"(.*)"/.exec(now) ?? [];
  const sorted = (more: readonly string[]) =>
    `KUBELET_KUBEADM_ARGS="${[...args.split(" "), ...more].toSorted().join(" ")}"\n`;
  assert.equal(flagsIn(sorted(["--image-x=y"])), "with");
  assert.equal(withoutFlags(sorted([])), 'KUBELET_KUBEADM_ARGS="--a=b --v=2"\n');
  const first = sorted([]).replace("--a=b ", "");
  assert.equal(withoutFlags(first), 'KUBELET_KUBEADM_ARGS="--v=2"\n');
});

test("whatever a line says, taking ours out restores it", () => {
  const text = fc.stringMatching(/^[ -!#-[\]-~]*$/);
  fc.assert(
    fc.property(text, (args) => {
      const file = `KUBELET_KUBEADM_ARGS="${args}"\n`;
      if (flagsIn(file) === "without") assert.equal(withoutFlags(withFlags(file)), file);
    }),
  );
});

const refused: readonly string[] = [
  "",
  "KUBELET_KUBEADM_ARGS=--v=2\n",
  'KUBELET_KUBEADM_ARGS="--v=2\n',
  'KUBELET_KUBEADM_ARGS="--v=2"\nKUBELET_KUBEADM_ARGS="--v=3"\n',
  'KUBELET_KUBEADM_ARGS="--v=2"\nKUBELET_KUBEADM_ARGS=--v=3\n',
  'KUBELET_KUBEADM_ARGS="--image-credential-provider-config=/etc/x"\n',
  'KUBELET_KUBEADM_ARGS="--v=2 \\"\n',
];
for (const file of refused)
  test(`ours are not put into ${JSON.stringify(file)}`, () =>
    assert.equal(typeof flagsIn(file), "object"));

const config = "/var/lib/kubelet/pull-secret-provider/config/global-pull-secret.json";
const bin = "/var/lib/kubelet/pull-secret-provider/bin";
const [forConfig, forBin] = [
  "--image-credential-provider-config",
  "--image-credential-provider-bin-dir",
];
const commands: readonly (readonly [command: string, told: string])[] = [
  ["kubelet --v=2", "none"],
  [`kubelet ${forConfig}=${config} ${forBin}=${bin} --v=2`, "ours"],
  [`kubelet ${forConfig} ${config} ${forBin} ${bin}`, "ours"],
  [`kubelet ${forConfig}=/etc/x ${forBin}=/etc ${forConfig}=${config} ${forBin}=${bin}`, "ours"],
  [`kubelet ${forConfig}=${config} ${forBin}=${bin} ${forConfig}=/etc/x`, "another"],
  [`kubelet ${forConfig}=${config}`, "another"],
  [`kubelet ${forConfig}=${config}x ${forBin}=${bin}`, "another"],
];
for (const [command, told] of commands)
  test(`a process was told of ${told}: ${command.slice(0, 90)}`, () =>
    assert.equal(toldOf(command), told));

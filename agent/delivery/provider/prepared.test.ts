/** Runs the snippets of docs/use/delivery-node.md on a node. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import test from "node:test";
import { temporary } from "#test/temporary.ts";
import { load } from "js-yaml";
import { providerFiles } from "#contract/names.ts";
import { script, providerConfig } from "#pullsecret/provider.fixture.ts";
import { answerOf, judgeConfig } from "#pullsecret/provider.ts";
import { needsProc } from "#agent/files/needs.fixture.ts";
import { kubeadmFile, namesProvider } from "#test/faults/provider.ts";
import { pageOf } from "#test/page.ts";
import { readInstalled } from "./provider.ts";

const page = pageOf("use/delivery-node.md");
const bodies = (heading: string) => page.blocksBelow(heading).map(({ body }) => body);
const directory = "/var/lib/kubelet";
const env = `${directory}/${kubeadmFile}`;

type File = Readonly<{ path: string; permissions: string; content: string; append?: boolean }>;
function lay(root: string, files: readonly File[]): void {
  for (const { path, permissions, content, append = false } of files) {
    // Cluster API's data for cloud-init is a Jinja template, so Jinja's marks must not occur.
    assert.doesNotMatch(content, /\{[{%#]/);
    fs.mkdirSync(dirname(join(root, path)), { recursive: true });
    const options = { mode: Number.parseInt(permissions, 8), flag: append ? "a" : "w" };
    fs.writeFileSync(join(root, path), content, options);
  }
}

/** The files that cloud-init writes. */
function filesOfCloudInit(): readonly File[] {
  const [body = ""] = bodies("### cloud-init");
  assert.match(body, /^#cloud-config\n/);
  return (load(body) as { write_files: File[] }).write_files;
}

type Registration<Arguments> = { nodeRegistration: { kubeletExtraArgs: Arguments } };
type Listed = Registration<{ name: string; value: string }[]>;
type Template = { spec: { template: { spec: { files: string; joinConfiguration: Listed } } } };
type Mapped = { joinConfiguration: Registration<Record<string, string>> };

/** Runs a page's commands on a node whose root directory is `root`. */
function run(root: string, body: string): void {
  execFileSync("sh", ["-c", body], { env: { ...process.env, ROOT: root } });
}

/** Creates kubeadm's file, which the page's commands then change. */
function hasKubeadm(root: string): void {
  lay(root, [{ path: env, permissions: "0644", content: 'KUBELET_KUBEADM_ARGS="--v=2"\n' }]);
}

type Row = readonly [heading: string, prepare: (root: string) => void];
const snippets: readonly Row[] = [
  ["### cloud-init", (root) => lay(root, filesOfCloudInit())],
  [
    "### A machine image",
    (root) => {
      for (const body of bodies("### A machine image")) run(root, body);
    },
  ],
  [
    "### kubeadm",
    (root) => {
      const [files = ""] = bodies("### A machine image");
      const [flags = ""] = bodies("### kubeadm");
      hasKubeadm(root);
      // The second run changes nothing more.
      for (const body of [files, flags, files, flags]) run(root, body);
      const [before, ...after] = fs.readFileSync(join(root, env), "utf8").split(" ");
      assert.deepEqual([before, after.length], ['KUBELET_KUBEADM_ARGS="--v=2', 2]);
    },
  ],
  [
    "### Cluster API",
    (root) => {
      const [list = "", map = ""] = bodies("### Cluster API");
      const { files, joinConfiguration } = (load(list) as Template).spec.template.spec;
      assert.equal(files, "the first three entries of write_files above");
      lay(root, filesOfCloudInit().slice(0, 3));
      const listed = joinConfiguration.nodeRegistration.kubeletExtraArgs;
      const expectedArgs = Object.fromEntries(listed.map(({ name, value }) => [name, value]));
      const mapped = (load(map) as Mapped).joinConfiguration.nodeRegistration.kubeletExtraArgs;
      assert.deepEqual(mapped, expectedArgs);
      // kubeadm writes the flags like this.
      const flags = Object.entries(expectedArgs).map(([name, value]) => `--${name}=${value}`);
      const line = ["--v=2", ...flags].toSorted().join(" ");
      const content = `KUBELET_KUBEADM_ARGS="${line}"\n`;
      lay(root, [{ path: env, permissions: "0644", content }]);
    },
  ],
];
for (const [heading, prepare] of snippets)
  test(`prepares a node with the page's snippet: ${heading}`, { skip: needsProc }, (t) => {
    const root = temporary(t);
    prepare(root);
    const under = (name: string) => join(root, directory, name);
    const laid: readonly (readonly [string, string, number])[] = [
      [providerFiles.script, script, 0o700],
      [providerFiles.config, providerConfig([], "All"), 0o600],
      [providerFiles.answer, answerOf(new Map()).toString(), 0o600],
    ];
    for (const [name, text, mode] of laid) {
      assert.equal(fs.readFileSync(under(name), "utf8"), text);
      assert.equal(fs.statSync(under(name)).mode & 0o777, mode);
    }
    assert.equal(readInstalled(join(root, directory), "All", 0).unfit, undefined);
    const told = [env, "/etc/default/kubelet"]
      .map((file) => join(root, file))
      .find((file) => fs.existsSync(file));
    // The kubelet uses the file that the page names.
    assert.ok(namesProvider(fs.readFileSync(told ?? "", "utf8")));
  });

/** A file whose last line has no end, as in kind's node image. */
const others = { path: "/etc/default/kubelet", permissions: "0644", content: "OTHER=--v=2" };
for (const [heading, prepare] of snippets.slice(0, 2))
  test(`keeps the last line of ${others.path} if it has no end: ${heading}`, (t) => {
    const root = temporary(t);
    lay(root, [others]);
    prepare(root);
    const lines = fs.readFileSync(join(root, others.path), "utf8").split("\n");
    assert.equal(lines[0], others.content);
    assert.ok(lines.some((line) => line.startsWith('KUBELET_EXTRA_ARGS="')));
  });

test("keeps kubeadm's file unchanged if it names another provider", (t) => {
  const root = temporary(t);
  const content = 'KUBELET_KUBEADM_ARGS="--image-credential-provider-config=/etc/x"\n';
  lay(root, [{ path: env, permissions: "0644", content }]);
  const [flags = ""] = bodies("### kubeadm");
  assert.throws(() =>
    execFileSync("sh", ["-c", flags], { env: { ...process.env, ROOT: root }, stdio: "pipe" }),
  );
  assert.equal(fs.readFileSync(join(root, env), "utf8"), content);
});

test("accepts the configuration that the page describes for scope Annotated", () => {
  const [body = ""] = bodies("## Preparing a node");
  const config = JSON.parse(providerConfig([], "All")) as { providers: object[] };
  const added = JSON.parse(`{${body}}`) as object;
  const providers = config.providers.map((provider) => ({ ...provider, ...added }));
  const bytes = Buffer.from(JSON.stringify({ ...config, providers }));
  assert.ok(judgeConfig(bytes, "Annotated").ok);
});

/**
 * Runs every command of docs/use/quick-start.md and compares its output with the page. kind starts
 * both nodes with podman, and kubeadm makes the cluster. `npm` and `docker pull` do nothing,
 * because what they would fetch exists already.
 */
import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { until } from "../cluster/await.ts";
import { installPackages } from "../cluster/kit/debian.ts";
import { setUp } from "../cluster/setup.ts";
import { helm } from "../install/go-tools.ts";
import { missingLine, pageOf, shell, type Block } from "../page.ts";
import { makeNodeImage } from "./node-image.ts";
import { podmanPackages, startPodman, type Podman } from "./podman.ts";
import { kindProgram } from "./programs.ts";

const root = join(import.meta.dirname, "../..");
const page = pageOf("use/quick-start.md");
const nodes = ["kind-control-plane", "kind-worker"];

let podman: Podman;
let desk: string;
let env: Readonly<Record<string, string>>;

before(async () => {
  const kit = await setUp();
  await installPackages(podmanPackages);
  const { image, storage } = await makeNodeImage(kit);
  const kind = await kindProgram();
  podman = await startPodman(storage);
  desk = join(podman.directory, "desk");
  const programs: Readonly<Record<string, string>> = {
    npm: "",
    docker: `case $1 in
  pull) exec podman image exists "$2" ;;
  build) shift && exec podman build --layers=false --build-arg=BASE=localhost/base "$@" ;;
esac
exec podman "$@"`,
    kind: `[ "$1" != create ] || set -- "$@" --image=${image}\nexec ${kind} "$@"`,
    kubectl: `exec ${kit.parts.path("kubectl")} "$@"`,
    helm: `exec ${await helm()} "$@"`,
  };
  mkdirSync(join(desk, "bin"), { recursive: true });
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(desk, "bin", name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(desk, "bin", name), 0o755);
  }
  symlinkSync(join(root, "manifests"), join(desk, "manifests"));
  for (const name of ["Containerfile", "dist"])
    cpSync(join(root, name), join(desk, name), { recursive: true });
  const path = [join(desk, "bin"), join(desk, "dist"), dirname(process.execPath)];
  env = {
    ...podman.env,
    PATH: [...path, process.env["PATH"]].join(delimiter),
    KUBECONFIG: join(desk, "kubeconfig"),
    KIND_EXPERIMENTAL_PROVIDER: "podman",
    BUILDAH_ISOLATION: "chroot",
  };
});
after(() => podman?.end());

/** Runs a block of the page. A loop that never ends fails after 15 minutes. */
const commands = (body: string): Promise<string> =>
  shell(body, desk, env, (argv) => podman.inside(["timeout", "15m", ...argv]));

/** Runs a program in a node, and returns its stdout. */
const onNode = (node: string, ...argv: readonly string[]): Promise<string> =>
  podman.run(["podman", "exec", node, ...argv]);

/** On a busy machine, the API server needs longer to start than kubeadm waits. */
const patience = `kubeadmConfigPatches:
  - "{ kind: InitConfiguration, timeouts: { kubernetesAPICall: 10m } }"
  - "{ kind: JoinConfiguration, timeouts: { kubernetesAPICall: 10m } }"
`;

/**
 * Does what a block says, and compares the output if the page shows one. Repeats a question until
 * its answer is the page's.
 */
async function follow({ kind, body, printed = "" }: Block): Promise<void> {
  if (kind === "yaml") {
    assert.match(body, /^# kind\.yaml\n/);
    return writeFileSync(join(desk, "kind.yaml"), body + patience);
  }
  let its = "";
  const answers = async (): Promise<boolean> => {
    its = await commands(body);
    return missingLine(printed, its) === undefined;
  };
  if (body.startsWith("kubectl get pod private\n"))
    await until(`the page shows the output of ${body}`, answers, { every: 1000, seen: () => its });
  else assert.ok(await answers(), `${body}\n${missingLine(printed, its)}\n${its}`);
}

const followBelow = async (heading: string): Promise<void> => {
  for (const block of page.blocksBelow(heading)) await follow(block);
};

/** The files of the kubelet that a product could have left there. */
const kubeletFiles = async (): Promise<string[]> =>
  await Promise.all(nodes.map((node) => onNode(node, "ls", "-A", "/var/lib/kubelet")));

/** How often each node's kubelet started, by its unit. */
const kubeletStarts = async (): Promise<number[]> =>
  await Promise.all(
    nodes.map(async (node) => {
      const log = await onNode(node, "journalctl", "--unit=kubelet", "--output=cat", "--no-pager");
      return log.match(/^Started kubelet\.service/gm)?.length ?? 0;
    }),
  );

let former: readonly string[];
let starts: readonly number[];

test("kind makes a cluster of two nodes with a registry in it, as the quick start says", async () => {
  await followBelow("## A cluster and a private image");
  former = await kubeletFiles();
  starts = await kubeletStarts();
});

test("a private image cannot be pulled after the installation, and preflight serves both nodes", async () => {
  await followBelow("## Install");
  const lines = (await commands("kubectl pull-secret preflight")).split("\n");
  assert.equal(lines[0], "2 of 2 nodes can be served");
});

test("a private image runs after every kubelet of kubeadm was restarted once", async () => {
  await followBelow("## Give the nodes the credential");
  assert.deepEqual(
    await kubeletStarts(),
    starts.map((count) => count + 1),
  );
});

test("a private image runs with the registry's next password", async () => {
  await followBelow("## Change the password");
});

test("a wrong edit changes no node", async () => {
  const before = await kubeletStarts();
  await followBelow("## Make a mistake");
  assert.deepEqual(await kubeletStarts(), before);
});

test("nothing is left on any node after the deletion of the Secret, and no kubelet ever failed", async () => {
  const blocks = page.blocksBelow("## Take everything back");
  const [deletion = assert.fail(), ...rest] = blocks;
  await follow(deletion);
  assert.deepEqual(await kubeletFiles(), former);
  const objects = await commands("kubectl get daemonsets,secrets,pods -A -o name");
  const ours = objects.split("\n").filter((name) => name.includes("pull-secret"));
  assert.ok(ours.length > 0);
  for (const name of ours) assert.match(name, /^pod\/global-pull-secret-controller-/);
  for (const node of nodes) {
    const failed = await onNode(node, "systemctl", "show", "kubelet", "--property=NRestarts");
    assert.equal(failed, "NRestarts=0\n");
  }
  for (const block of rest) await follow(block);
});

test("the page has no command that these tests do not run", () => {
  const sections = ["A cluster and a private image", "Install", "Give the nodes the credential"];
  const others = ["Change the password", "Make a mistake", "Take everything back"];
  const run = [...sections, ...others].flatMap((heading) => page.blocksBelow(`## ${heading}`));
  assert.deepEqual(run, page.blocks());
});

/**
 * The images in kind's node image: static programs, and for kube-proxy and the network the tools of
 * the node's Debian.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeLayout } from "../cluster/kit/images.ts";
import { run } from "../cluster/run.ts";
import type { Kit } from "../cluster/setup.ts";

type Sources = Readonly<{
  kit: Kit;
  /** The folder of kubeadm and kube-proxy. */
  kubeadm: string;
  /** The node's root file system, with kind's files. */
  debian: string;
}>;

/** Waits until it is stopped. Ignores its arguments. */
const waiting = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"];

/** Files of the Debian that kube-proxy and network.yaml need. */
const tools =
  "bin sbin lib lib64 usr/lib*/*linux* usr/sbin/*tables* usr/sbin/nft usr/sbin/conntrack " +
  "etc/alternatives/*tables* usr/bin/sh usr/bin/dash usr/bin/sleep usr/bin/mv usr/bin/ip";

const registryConfig = `version: 0.1
storage: { filesystem: { rootdirectory: /tmp/registry } }
http: { addr: ":5000" }
`;

/**
 * Writes one archive for each image into `folder`. CoreDNS only waits: our programs and the
 * kubelets look up no name in the cluster.
 */
export async function writeArchives(folder: string, sources: Sources): Promise<void> {
  const { kit, kubeadm, debian } = sources;
  const { kubernetes, path } = kit.parts;
  const list = ["config", "images", "list", `--kubernetes-version=v${kubernetes}`];
  const listed = (await run([join(kubeadm, "kubeadm"), ...list])).trim().split("\n");
  const named = (part: string): string[] => listed.filter((name) => name.includes(part));
  const containerd = readFileSync(join(debian, "etc/containerd/config.toml"), "utf8");
  const sandbox = /sandbox_image = "(\S+)"/.exec(containerd)?.[1] ?? "";
  const plane = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"];
  await writeArchive(folder, plane.flatMap(named), plane.map(path), {});
  await writeArchive(
    folder,
    [sandbox, ...named("coredns")],
    [],
    { Entrypoint: waiting },
    (tree) => {
      cpSync(join(kit.debian, "bin/busybox"), join(tree, "usr/local/bin/sh"));
      symlinkSync("sh", join(tree, "usr/local/bin/sleep"));
    },
  );
  await writeArchive(
    folder,
    ["localhost/network:1", ...named("kube-proxy")],
    [path("kubectl"), join(kubeadm, "kube-proxy")],
    {},
    async (tree) => {
      await run(["sh", "-c", `cp --archive --parents ${tools} ${tree}`], { cwd: debian });
    },
  );
  await writeArchive(
    folder,
    ["docker.io/library/registry:3"],
    [path("registry")],
    { Entrypoint: ["/usr/local/bin/registry", "serve", "/etc/registry.yaml"] },
    (tree) => writeFileSync(join(tree, "etc/registry.yaml"), registryConfig),
  );
}

/** Writes an image of these programs under these names, as an OCI archive for `ctr`. */
async function writeArchive(
  folder: string,
  names: readonly string[],
  programs: readonly string[],
  config: Readonly<Record<string, unknown>>,
  add: (tree: string) => void | Promise<void> = () => {},
): Promise<void> {
  const [tree, layout] = [join(folder, "tree"), join(folder, "layout")];
  for (const place of ["etc", "tmp", "usr/local/bin"])
    mkdirSync(join(tree, place), { recursive: true });
  for (const program of programs)
    cpSync(program, join(tree, "usr/local/bin", program.split("/").at(-1) ?? ""));
  await add(tree);
  await writeLayout(layout, tree, { Env: ["PATH=/usr/local/bin:/usr/sbin:/usr/bin"], ...config });
  const index = join(layout, "index.json");
  const { manifests } = JSON.parse(readFileSync(index, "utf8")) as { manifests: object[] };
  const tagged = names.map((name) => ({
    ...manifests[0],
    annotations: { "io.containerd.image.name": name },
  }));
  writeFileSync(index, JSON.stringify({ schemaVersion: 2, manifests: tagged }));
  const file = names[0]?.replaceAll(/\W/g, "-") ?? "";
  await run(["tar", "-C", layout, "-cf", join(folder, `${file}.tar`), "."]);
  rmSync(layout, { recursive: true });
}

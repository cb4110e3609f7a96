/**
 * The node image of kind, made without any registry from the files in kind's module, a Debian, and
 * the programs of the tests' clusters. `kind build node-image` makes the same from a release.
 */
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { cacheRoot, keyOf, once } from "../cluster/cache.ts";
import { makeRootFileSystem } from "../cluster/kit/rootfs.ts";
import { directEnvironment, progress, run } from "../cluster/run.ts";
import type { Kit } from "../cluster/setup.ts";
import { writeArchives } from "./images.ts";
import { configurePodman } from "./podman.ts";
import { kindModule, kubeadmPrograms } from "./programs.ts";

const here = import.meta.dirname;

/**
 * The packages of kind's base image that kubeadm, containerd and kube-proxy need. No D-Bus. With
 * pigz, containerd unpacks its images ten times faster.
 */
const packages =
  "systemd systemd-sysv runc iproute2 conntrack iptables nftables ethtool kmod jq procps pigz";

/** Lines of kind's base Dockerfile, and what this machine needs; run in the node's Debian. */
const finish = `
chmod 755 /usr/local/bin/* /kind/bin/*
rm -f /lib/systemd/system/sysinit.target.wants/systemd-tmpfiles-setup.service
rm -f /lib/systemd/system/multi-user.target.wants/* /etc/systemd/system/*.wants/* \
  /lib/systemd/system/local-fs.target.wants/* /lib/systemd/system/sockets.target.wants/*udev* \
  /lib/systemd/system/sockets.target.wants/*initctl* /lib/systemd/system/basic.target.wants/*
echo ReadKMsg=no >> /etc/systemd/journald.conf
ln -sf /usr/lib/systemd/systemd /sbin/init
: > /etc/machine-id
systemctl enable kubelet.service containerd.service undo-mount-hacks.service
systemctl mask systemd-binfmt.service
# This machine may have cgroup v1, and may lack CAP_SYS_RESOURCE.
sed -i 's#$# --fail-cgroupv1=false#' /etc/default/kubelet
sed -i 's/restrict_oom_score_adj = false/restrict_oom_score_adj = true/' /etc/containerd/config.toml
ctr oci spec | jq '.hooks.createContainer += [{"path": "/kind/bin/mount-product-files.sh"}]
  | del(.process.rlimits)' > /etc/containerd/cri-base.json
containerd > /tmp/containerd.log 2>&1 &
until ctr version > /dev/null 2>&1; do kill -0 $!; sleep 0.2; done
for image in /archives/*; do
  ctr --namespace=k8s.io images import --label=io.cri-containerd.pinned=pinned --no-unpack $image
done
kill $!
wait || true
rm -rf /var/lib/containerd/tmpmounts
`;

/** Settings of the whole machine, which the kubelet of a node would write. */
const sysctls = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

/** Before the kubelet starts, covers each of these settings with a file. */
function coverSysctls(root: string): void {
  const lines = Object.entries(sysctls).map(([name, value]) => {
    const cover = `/run/sysctl.${name.replaceAll("/", ".")}`;
    const mount = `mount --bind ${cover} /proc/sys/${name}`;
    return `ExecStartPre=/bin/sh -c '[ -e ${cover} ] || { echo ${value} > ${cover} && ${mount}; }'\n`;
  });
  const file = join(root, "etc/systemd/system/kubelet.service.d/90-machine.conf");
  writeFileSync(file, `[Service]\n${lines.join("")}`);
}

/** Lays kind's files and all programs over the Debian in `root`. */
async function layNode(root: string, kit: Kit, kubeadm: string): Promise<void> {
  const files = join(await kindModule(), "images/base/files");
  await run(["cp", "--recursive", "--no-preserve=mode", `${files}/.`, root]);
  for (const folder of ["kind/manifests", "etc/kubernetes/manifests", "opt/cni/bin"])
    mkdirSync(join(root, folder), { recursive: true });
  const { parts } = kit;
  const place = (program: string, folder: string): void =>
    cpSync(program, join(root, folder, basename(program)));
  for (const name of ["containerd", "ctr", "containerd-shim-runc-v2"])
    place(parts.path(name), "usr/local/bin");
  for (const name of ["host-local", "loopback", "ptp"]) place(parts.path(name), "opt/cni/bin");
  for (const name of ["kubelet", "kubectl"]) place(parts.path(name), "usr/bin");
  place(join(kubeadm, "kubeadm"), "usr/bin");
  writeFileSync(join(root, "kind/version"), `v${parts.kubernetes}`);
  cpSync(join(here, "network.yaml"), join(root, "kind/manifests/default-cni.yaml"));
  coverSysctls(root);
}

/** Runs `finish` in `root`, in namespaces that leave no process and no mount. */
async function finishNode(root: string, archives: string): Promise<void> {
  mkdirSync(join(root, "archives"));
  const script = `set -e
mount -t proc proc ${root}/proc
mount -t tmpfs tmpfs ${root}/run
mount -t tmpfs tmpfs ${root}/tmp
mount --rbind /dev ${root}/dev
mount --bind ${archives} ${root}/archives
exec chroot ${root} bash -euo pipefail -c "$1"`;
  const apart = ["--mount", "--pid", "--fork", "--kill-child", "--propagation=private"];
  await run(["unshare", ...apart, "sh", "-c", script, "sh", finish]);
  rmSync(join(root, "archives"), { recursive: true });
}

const nameOf = (release: string): string => `localhost/kindest/node:v${release}`;

/**
 * Returns the name of the node image, and podman's storage that contains it, the base of our own
 * image as `localhost/base`, and a small image as `registry.k8s.io/pause:3.10`. Takes a few
 * minutes, once.
 */
export async function makeNodeImage(kit: Kit): Promise<{ image: string; storage: string }> {
  const kubeadm = await kubeadmPrograms(kit.parts.kubernetes);
  const debian = await makeRootFileSystem(packages.split(" "));
  const sources = ["node-image.ts", "images.ts", "network.yaml", "go.mod"].map((file) =>
    readFileSync(join(here, file), "utf8"),
  );
  const key = keyOf(...sources, kubeadm, debian, kit.parts.directory, ...Object.values(kit.images));
  const image = nameOf(kit.parts.kubernetes);
  const made = await once(join(cacheRoot, "kind", key), async (draft) => {
    progress("making the node image of kind, once");
    const [root, archives] = [join(draft, "root"), join(draft, "archives")];
    mkdirSync(draft, { recursive: true });
    await run(["cp", "--archive", debian, root]);
    await layNode(root, kit, kubeadm);
    await writeArchives(archives, { kit, kubeadm, debian: root });
    await finishNode(root, archives);
    const env = directEnvironment(configurePodman(draft, join(draft, "storage")));
    // podman mounts its storage onto itself.
    const apart = ["unshare", "--mount", "--propagation=private"];
    const podman = (args: readonly string[], cwd = draft): Promise<string> =>
      run([...apart, "podman", ...args], { env, cwd });
    const changes = [
      // With the last word systemd keeps kubelet.slice in its own hierarchy of cgroup v1.
      `ENTRYPOINT ["/usr/local/bin/entrypoint", "/sbin/init", "systemd.legacy_systemd_cgroup_controller=yes"]`,
      "STOPSIGNAL SIGRTMIN+3",
      "ENV container=docker",
    ].flatMap((change) => ["--change", change]);
    const tar = join(draft, "node.tar");
    await run(["tar", "-C", root, "-cf", tar, "."]);
    await podman(["import", "--quiet", ...changes, tar, image]);
    for (const [layout, name] of [
      [kit.images.base, "localhost/base:latest"],
      [kit.images.app, "registry.k8s.io/pause:3.10"],
    ] as const) {
      // A relative path, because podman names the image after the path, and refuses dots.
      const pull = ["pull", "--quiet", `oci:${basename(layout)}`];
      const id = (await podman(pull, dirname(layout))).trim();
      await podman(["tag", id, name]);
    }
    for (const entry of readdirSync(draft))
      if (entry !== "storage") rmSync(join(draft, entry), { recursive: true });
  });
  return { image, storage: join(made, "storage") };
}

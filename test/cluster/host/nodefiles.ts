/** The files that turn a Debian into a Kubernetes node: path below the node's root → content. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Network } from "./network.ts";
import { publicRegistry, registryPorts } from "../registry.ts";

/** The mount point of the Go programs. */
export const programs = "/opt/kubernetes";

/** The image of every pod's sandbox. */
export const sandboxImage = "pause:1";

export function nodeFiles(
  index: number,
  network: Network,
  kubeconfig: string,
  ca: string,
): Record<string, string> {
  const name = `node${index}`;
  const hosts = Object.entries(registryPorts).map(([registry, port]) => [
    `etc/containerd/certs.d/${registry}/hosts.toml`,
    `server = "http://${network.hub}:${port}"\n[host."http://${network.hub}:${port}"]\ncapabilities = ["pull", "resolve"]\n`,
  ]);
  return {
    "etc/hostname": `${name}\n`,
    "etc/hosts": `127.0.0.1 localhost\n${network.node(index)} ${name}\n`,
    "etc/resolv.conf": "",
    "etc/machine-id": `${randomBytes(16).toString("hex")}\n`,
    "etc/kubernetes/kubeconfig": kubeconfig,
    "etc/kubernetes/ca.crt": ca,
    "etc/kubernetes/kubelet.json": JSON.stringify(kubeletConfiguration(network), null, 2),
    "etc/kubernetes/prepare.sh": readFileSync(join(import.meta.dirname, "node-prepare.sh"), "utf8"),
    "etc/cni/net.d/10-ptp.conflist": JSON.stringify(cni(network.pods(index))),
    "etc/containerd/config.toml": containerd,
    ...Object.fromEntries(hosts),
    "etc/systemd/journald.conf.d/test.conf":
      "[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\nSyncIntervalSec=1\n",
    "etc/systemd/system/prepare.service": prepareUnit,
    "etc/systemd/system/containerd.service": containerdUnit,
    "etc/systemd/system/kubelet.service": kubeletUnit(name, network.node(index)),
    "etc/systemd/system/default.target":
      "[Unit]\nWants=multi-user.target kubelet.service dbus.service\n",
  };
}

function kubeletConfiguration(network: Network): Record<string, unknown> {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    authentication: { x509: { clientCAFile: "/etc/kubernetes/ca.crt" } },
    clusterDomain: "cluster.local",
    // No resolver listens at this address, so look-ups fail at once. If no resolver is configured,
    // every pod gets a Warning.
    clusterDNS: [network.hub],
    containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
    volumePluginDir: "/var/lib/kubelet/plugins-exec", // the default is below the read-only /usr
    // The settings below are needed only because the node is not a real machine.
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: "cgroupfs",
    cgroupsPerQOS: false, // no QoS groups if cgroup v1 and v2 are mixed
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false, // the node does not see the disk's device
    evictionHard: {
      "memory.available": "1Mi",
      "nodefs.available": "0%",
      "imagefs.available": "0%",
    },
    // With this gate the kubelet only logs a sysctl that it cannot set.
    featureGates: { KubeletInUserNamespace: true },
  };
}

function cni(subnet: string): Record<string, unknown> {
  const ipam = { type: "host-local", ranges: [[{ subnet }]], routes: [{ dst: "0.0.0.0/0" }] };
  return { cniVersion: "1.0.0", name: "ptp", plugins: [{ type: "ptp", ipam }] };
}

const containerd = `version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "${publicRegistry}/${sandboxImage}"
[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "/etc/containerd/certs.d"
[plugins.'io.containerd.cri.v1.runtime']
# Lowering it needs CAP_SYS_RESOURCE, which this machine may not have.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["${programs}"]
`;

const prepareUnit = `[Unit]
Description=Make this container enough of a machine for a kubelet
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /etc/kubernetes/prepare.sh
`;

const containerdUnit = `[Unit]
Description=containerd
Requires=prepare.service
After=prepare.service dbus.service
[Service]
Environment=PATH=${programs}:/usr/sbin:/usr/bin:/sbin:/bin GOGC=400
ExecStart=${programs}/containerd
Delegate=yes
KillMode=process
Restart=always
RestartSec=1
`;

/**
 * The unit is like kubeadm's, with the same two EnvironmentFiles in the same order. But RestartSec
 * is shorter (kubeadm uses 10), so that tests of a failing kubelet wait less.
 */
function kubeletUnit(name: string, address: string): string {
  return `[Unit]
Description=kubelet
Wants=containerd.service
After=containerd.service prepare.service
Requires=prepare.service
StartLimitIntervalSec=0
[Service]
Environment=PATH=${programs}:/usr/sbin:/usr/bin:/sbin:/bin GOGC=400
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=${programs}/kubelet --config=/etc/kubernetes/kubelet.json --kubeconfig=/etc/kubernetes/kubeconfig --hostname-override=${name} --node-ip=${address} $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
KillMode=process
Restart=always
RestartSec=1
`;
}

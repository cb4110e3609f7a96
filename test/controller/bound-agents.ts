/**
 * DaemonSets that the controller's account may declare, and others: the agents' template with one
 * thing changed.
 */
import assert from "node:assert/strict";
import type { V1Container, V1DaemonSet, V1PodSpec } from "@kubernetes/client-node";
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import { agent as usual } from "#controller/objects/daemonset/agent.fixture.ts";
import { daemonSet } from "#controller/objects/daemonset/daemonset.ts";
import { allModes, deliveryOf } from "#controller/policy/delivery.ts";

export const repository = "mirror.example:5000/team/gps";
export const tag = "7";
const image = `${repository}:${tag}`;
const agent: Agent = { ...usual, image };

export const declared = (more: Partial<Agent> = {}): V1DaemonSet =>
  daemonSet({ ...agent, ...more });

/** The agents' template with one thing changed. */
export function changed(change: (spec: V1PodSpec) => unknown): V1DaemonSet {
  const all = structuredClone(declared());
  const spec = all.spec?.template.spec;
  assert.ok(spec);
  change(spec);
  return all;
}

export const containerOf = ({ containers }: V1PodSpec): V1Container => containers[0] as V1Container;
const firstOf = ({ initContainers = [] }: V1PodSpec): V1Container =>
  initContainers[0] as V1Container;
const run = { exec: { command: ["/nodejs/bin/node", "-e", "0"] } };
const hostPath = { path: "/etc" };

export const denied: Readonly<Record<string, (spec: V1PodSpec) => unknown>> = {
  "another image": (spec) => (containerOf(spec).image = "evil.example/x:1"),
  "another tag": (spec) => (containerOf(spec).image = `${repository}:8`),
  "no tag": (spec) => (containerOf(spec).image = repository),
  "a repository that begins with ours": (spec) =>
    (containerOf(spec).image = `${repository}-evil@sha256:${"0".repeat(64)}`),
  "a tag beside the digest": (spec) =>
    (containerOf(spec).image = `${repository}@sha256:${"0".repeat(64)}x`),
  "another image of the first container": (spec) => (firstOf(spec).image = "evil.example/x:1"),
  "another account": (spec) => (spec.serviceAccountName = "default"),
  "a mounted token": (spec) => (spec.automountServiceAccountToken = true),
  "a token by default": (spec) => delete spec.automountServiceAccountToken,
  "a projected token": (spec) =>
    spec.volumes?.push({
      name: "token",
      projected: { sources: [{ serviceAccountToken: { path: "token" } }] },
    }),
  "a volume of the node": (spec) => spec.volumes?.push({ name: "etc", hostPath }),
  "another directory under a name of ours": (spec) =>
    (spec.volumes ?? [])
      .filter(({ name }) => name === "kubelet")
      .forEach((volume) => (volume.hostPath = { ...hostPath, type: "Directory" })),
  "another Secret": (spec) =>
    spec.volumes?.push({ name: "other", secret: { secretName: "other" } }),
  "the root directory for the agent": (spec) =>
    containerOf(spec).volumeMounts?.push({ name: "root", mountPath: "/host/root" }),
  "a writable root directory": (spec) =>
    (firstOf(spec).volumeMounts ?? []).forEach((mount) => {
      delete mount.readOnly;
      delete mount.recursiveReadOnly;
    }),
  "another mount path": (spec) =>
    (containerOf(spec).volumeMounts ?? [])
      .filter(({ name }) => name === "pod")
      .forEach((mount) => (mount.mountPath = "/app")),
  "a part of a volume": (spec) =>
    (containerOf(spec).volumeMounts ?? []).forEach((mount) => (mount.subPath = "pki")),
  "another command": (spec) => (containerOf(spec).command = ["/nodejs/bin/node", "-e", "0"]),
  "the image's own command": (spec) => delete containerOf(spec).command,
  "a command with a flag less": (spec) => containerOf(spec).command?.splice(3, 1),
  "another command of the first container": (spec) => firstOf(spec).command?.pop(),
  "another argument of the first container": (spec) => firstOf(spec).args?.push("--x"),
  "another unit": (spec) => containerOf(spec).args?.splice(3, 1, "sshd.service"),
  "another directory by a flag": (spec) =>
    containerOf(spec).args?.push("--secret-directory", "/host/kubelet"),
  "another directory by a flag in one word": (spec) =>
    containerOf(spec).args?.push("--termination-log=/host/kubelet/config.json"),
  "no arguments": (spec) => delete containerOf(spec).args,
  "a variable that Node reads": (spec) =>
    containerOf(spec).env?.push({ name: "NODE_OPTIONS", value: "--import=data:," }),
  "a variable that the loader reads": (spec) =>
    containerOf(spec).env?.push({ name: "LD_PRELOAD", value: "/x" }),
  "a proxy from a Secret": (spec) =>
    containerOf(spec).env?.push({
      name: "HTTPS_PROXY",
      valueFrom: { secretKeyRef: { name: "other", key: "password" } },
    }),
  "variables of a Secret": (spec) =>
    (containerOf(spec).envFrom = [{ secretRef: { name: "other" } }]),
  "a hook": (spec) => (containerOf(spec).lifecycle = { postStart: run }),
  "a probe that runs a program": (spec) => (containerOf(spec).livenessProbe = run),
  "a readiness probe that runs a program": (spec) => (containerOf(spec).readinessProbe = run),
  "a probe of another host": (spec) =>
    (containerOf(spec).readinessProbe = { httpGet: { host: "10.0.0.1", port: 80 } }),
  "a capability": (spec) =>
    (containerOf(spec).securityContext = { capabilities: { add: ["SYS_ADMIN"] } }),
  "a privileged container": (spec) => (containerOf(spec).securityContext = { privileged: true }),
  "no security context": (spec) => delete containerOf(spec).securityContext,
  "no seccomp profile": (spec) =>
    (spec.securityContext = { seccompProfile: { type: "Unconfined" } }),
  "the node's processes": (spec) => (spec.hostPID = true),
  "the node's IPC": (spec) => (spec.hostIPC = true),
  "a container more": (spec) => spec.containers.push({ name: "b", image }),
  "a first container more": (spec) => spec.initContainers?.push({ name: "b", image }),
  "a termination message elsewhere": (spec) =>
    (containerOf(spec).terminationMessagePath = "/host/kubelet/config.json"),
  "aliases of hosts": (spec) => (spec.hostAliases = [{ ip: "10.0.0.1", hostnames: ["a"] }]),
};

const digest = `${repository}@sha256:${"a".repeat(64)}`;
export const admitted: Readonly<Record<string, () => V1DaemonSet>> = {
  ...Object.fromEntries(
    allModes.flatMap((mode) =>
      (["Look", "Ignore"] as const).map((hiddenFiles) => [
        `mode ${mode}, hidden files: ${hiddenFiles}`,
        () => declared({ delivery: deliveryOf({ mode }, mode), hiddenFiles }),
      ]),
    ),
  ),
  "the image by digest": () => declared({ image: digest }),
  "pull secrets, another probation and other ports": () =>
    declared({ imagePullSecrets: ["a"], probationSeconds: 30, probePort: 1234, healthzPort: 4321 }),
  "resources, a priority class, labels and annotations": () =>
    declared({
      pod: {
        ...agent.pod,
        requests: { cpu: "1" },
        priorityClass: "",
        labels: { a: "b" },
        annotations: { a: "b" },
      },
    }),
  "what other people's admission adds: a proxy, an emptyDir, a toleration, a DNS option": () =>
    changed((spec) => {
      containerOf(spec).env?.push({ name: "HTTPS_PROXY", value: "http://proxy.example" });
      spec.volumes?.push({ name: "scratch", emptyDir: {} });
      spec.tolerations?.push({ key: "a", operator: "Exists" });
      spec.dnsConfig = { options: [{ name: "ndots", value: "1" }] };
    }),
};

/**
 * DaemonSets that the controller's account may or may not declare: the agents' template with one
 * change.
 */
import assert from "node:assert/strict";
import type {
  V1Container,
  V1DaemonSet,
  V1PodSpec,
  V1PodTemplateSpec,
} from "@kubernetes/client-node";
import type { Agent } from "#controller/objects/agent.ts";
import { agent as usual } from "#controller/objects/agent.fixture.ts";
import { daemonSet, restartedAt } from "#controller/objects/daemonset.ts";
import { deliveryModes } from "#contract/names.ts";
import { deliveryOf } from "#controller/policy/policy.ts";
import { parseConfig } from "#controller/policy/config.ts";
import { flags } from "#controller/policy/flags.ts";
import { inForce } from "#controller/policy/policy-in-force.ts";
import { installed } from "#tools/install/bounds.ts";
import { samples } from "#tools/install/flag-samples.fixture.ts";
import { flagValues, valueOf } from "#tools/install/values-schema.ts";

export const repository = "mirror.example:5000/team/gps";
export const tag = "7";
const image = `${repository}:${tag}`;
const agent: Agent = { ...usual, image };

export const declared = (more: Partial<Agent> = {}): V1DaemonSet =>
  daemonSet({ ...agent, ...more }, 1);

type Change = (
  spec: V1PodSpec,
  metadata: NonNullable<V1PodTemplateSpec["metadata"]>,
  set: V1DaemonSet,
) => unknown;

/** The agents' template with one change. */
export function changed(change: Change): V1DaemonSet {
  const all = structuredClone(declared());
  const { spec, metadata } = all.spec?.template ?? {};
  assert.ok(spec && metadata);
  change(spec, metadata, all);
  return all;
}

/** Flag that the chart can set → arguments of the controller that give the flag another value. */
const flagArguments: readonly (readonly [flag: string, args: readonly string[]])[] = Object.keys(
  flags,
)
  .filter((flag) => valueOf(flag) in flagValues)
  .map((flag) => {
    const sample = samples[valueOf(flag) as keyof typeof samples];
    return [flag, [sample].flat().map((value) => `--${flag}=${value}`)];
  });
const isBound = (flag: string) => flag in installed;
/** The flags whose values are in annotations of the controller's account. */
export const boundArguments = flagArguments.flatMap(([flag, args]) => (isBound(flag) ? args : []));

function ofArguments(args: readonly string[]): V1DaemonSet {
  const parsed = parseConfig(args);
  assert.ok(parsed.ok);
  const { policy } = inForce(parsed.value.installed, undefined, undefined);
  const { imagePullSecrets } = policy.agent.pod;
  const { probationSeconds } = policy.rollout;
  const { image: own = image } = parsed.value;
  return daemonSet({ ...policy.agent, image: own, imagePullSecrets, probationSeconds }, 1);
}

/**
 * Flag → the agents' DaemonSet of a controller with this flag and all flags that annotations name.
 */
export const flagged: Readonly<Record<string, V1DaemonSet>> = Object.fromEntries(
  flagArguments.map(([flag, args]) => [
    flag,
    ofArguments(isBound(flag) ? boundArguments : [...boundArguments, ...args]),
  ]),
);
/** Flag that no annotation names → the agents' DaemonSet if the controller has this flag. */
export const unnamed: Readonly<Record<string, V1DaemonSet>> = Object.fromEntries(
  flagArguments.filter(([flag]) => isBound(flag)).map(([flag, args]) => [flag, ofArguments(args)]),
);
/** The installer's flags whose values an agent may also lack: they only add to the template. */
const optional = new Set(["agent-label", "agent-annotation", "containerd-directory"]);
/**
 * Flag that an annotation names → the agents' DaemonSet if the controller has every such flag
 * except this one.
 */
export const lacking: Readonly<Record<string, V1DaemonSet>> = Object.fromEntries(
  flagArguments
    .filter(([flag]) => isBound(flag) && !optional.has(flag))
    .map(([flag, args]) => [
      flag,
      ofArguments(boundArguments.filter((argument) => !args.includes(argument))),
    ]),
);

export const containerOf = ({ containers }: V1PodSpec): V1Container => containers[0] as V1Container;
const run = { exec: { command: ["/nodejs/bin/node", "-e", "0"] } };
const hostPath = { path: "/etc" };

/** Gives the flag of the agent another value. */
const withValue =
  (flag: string, value: string): Change =>
  (spec) => {
    const { args = [] } = containerOf(spec);
    args[args.indexOf(flag) + 1] = value;
  };
/** Replaces the volume of this name. */
const emptied =
  (name: string): Change =>
  ({ volumes = [] }) => {
    const at = volumes.findIndex((volume) => volume.name === name);
    volumes.splice(at, 1, { name, emptyDir: {} });
  };

export const denied: Readonly<Record<string, Change>> = {
  "a finalizer of the DaemonSet": (_, __, { metadata }) =>
    Object.assign(metadata ?? {}, { finalizers: ["orphan"] }),
  "another owner of the DaemonSet": (_, __, { metadata }) => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "1" };
    Object.assign(metadata ?? {}, { ownerReferences: [owner] });
  },
  "a Service's label": (_, { labels }) => Object.assign(labels ?? {}, { "k8s-app": "kube-dns" }),
  "another value of our label": (_, { labels }) =>
    Object.assign(labels ?? {}, { "app.kubernetes.io/managed-by": "other" }),
  "a finalizer of the pods": (_, metadata) => (metadata.finalizers = ["a.example/held"]),
  "an annotation that runtimes read": (_, { annotations }) =>
    Object.assign(annotations ?? {}, {
      "container.apparmor.security.beta.kubernetes.io/agent": "unconfined",
    }),
  "requests of a whole node": (spec) =>
    (containerOf(spec).resources = { requests: { cpu: "1001m" } }),
  "limits of a whole node": (spec) =>
    (containerOf(spec).resources = { limits: { memory: "1025Mi", cpu: "1" } }),
  "another resource": (spec) =>
    (containerOf(spec).resources = { limits: { "a.example/gpu": "1" } }),
  "an argument that the kubelet expands": withValue("--probation", "$(HTTP_PROXY)"),
  "a flag in the place of another": (spec) => containerOf(spec).args?.splice(4, 1, "--probation"),
  "an additional argument": (spec) => containerOf(spec).args?.push("more"),
  "two arguments in one": (spec) => {
    const { args = [] } = containerOf(spec);
    containerOf(spec).args = [...args.slice(0, -2), args.slice(-2).join(" ")];
  },
  "the restart of control planes": withValue("--restart-control-plane", "Always"),
  "another port of healthz": withValue("--healthz-port", "4321"),
  "another address of healthz": withValue("--healthz-address", "10.0.0.1"),
  "DNS servers": (spec) => (spec.dnsConfig = { nameservers: ["10.0.0.1"] }),
  "another image": (spec) => (containerOf(spec).image = "evil.example/x:1"),
  "another tag": (spec) => (containerOf(spec).image = `${repository}:8`),
  "no tag": (spec) => (containerOf(spec).image = repository),
  "a digest instead of the tag": (spec) =>
    (containerOf(spec).image = `${repository}@sha256:${"0".repeat(64)}`),
  "another account": (spec) => (spec.serviceAccountName = "default"),
  "a mounted token": (spec) => (spec.automountServiceAccountToken = true),
  "a token by default": (spec) => delete spec.automountServiceAccountToken,
  "another projected token": (spec) =>
    spec.volumes?.push({
      name: "token",
      projected: { sources: [{ serviceAccountToken: { path: "token" } }] },
    }),
  "a token for another audience": (spec) =>
    spec.volumes
      ?.flatMap(({ projected }) => projected?.sources ?? [])
      .forEach(({ serviceAccountToken }) =>
        Object.assign(serviceAccountToken ?? {}, { audience: "vault" }),
      ),
  "a volume of the node": (spec) => spec.volumes?.push({ name: "etc", hostPath }),
  "a volume of ours with another directory": (spec) =>
    (spec.volumes ?? [])
      .filter(({ name }) => name === "kubelet")
      .forEach((volume) => (volume.hostPath = { ...hostPath, type: "Directory" })),
  "another Secret": (spec) =>
    spec.volumes?.push({ name: "other", secret: { secretName: "other" } }),
  "a second mount of a volume": (spec) =>
    containerOf(spec).volumeMounts?.push({ name: "kubelet", mountPath: "/host/root" }),
  "a writable directory of systemd": (spec) =>
    (containerOf(spec).volumeMounts ?? [])
      .filter(({ name }) => name === "systemd")
      .forEach((mount) => {
        delete mount.readOnly;
        delete mount.recursiveReadOnly;
      }),
  "the kubelet's keys, which a volume covers": (spec) => {
    const { volumeMounts = [] } = containerOf(spec);
    const at = volumeMounts.findIndex(({ mountPath }) => mountPath === "/host/kubelet/pki");
    volumeMounts.splice(at, 1);
  },
  "another mount path": (spec) =>
    (containerOf(spec).volumeMounts ?? [])
      .filter(({ name }) => name === "credentials")
      .forEach((mount) => (mount.mountPath = "/app")),
  "a part of a volume": (spec) =>
    (containerOf(spec).volumeMounts ?? []).forEach((mount) => (mount.subPath = "pki")),
  "another command": (spec) => (containerOf(spec).command = ["/nodejs/bin/node", "-e", "0"]),
  "the image's own command": (spec) => delete containerOf(spec).command,
  "a command without one of its flags": (spec) => containerOf(spec).command?.splice(3, 1),
  "another unit": (spec) => containerOf(spec).args?.splice(1, 1, "sshd.service"),
  "another directory by a flag": (spec) =>
    containerOf(spec).args?.push("--secret-directory", "/host/kubelet"),
  "another directory by a flag in one word": (spec) =>
    containerOf(spec).args?.push("--termination-log=/host/kubelet/config.json"),
  "no arguments": (spec) => delete containerOf(spec).args,
  "a variable that Node reads": (spec) =>
    containerOf(spec).env?.push({ name: "NODE_OPTIONS", value: "--import=data:," }),
  "a variable that the watcher of files reads": (spec) =>
    containerOf(spec).env?.push({ name: "CHOKIDAR_USEPOLLING", value: "1" }),
  "a variable that the resolver reads": (spec) =>
    containerOf(spec).env?.push({ name: "RES_OPTIONS", value: "timeout:30" }),
  "a variable that the loader reads": (spec) =>
    containerOf(spec).env?.push({ name: "LD_PRELOAD", value: "/x" }),
  "another API server": (spec) =>
    containerOf(spec).env?.push({ name: "KUBERNETES_SERVICE_HOST", value: "10.0.0.1" }),
  "another name of the node": (spec) =>
    containerOf(spec).env?.splice(0, 1, { name: "NODE_NAME", value: "a" }),
  "a proxy from a Secret": (spec) =>
    containerOf(spec).env?.push({
      name: "HTTPS_PROXY",
      valueFrom: { secretKeyRef: { name: "other", key: "password" } },
    }),
  "variables of a Secret": (spec) =>
    (containerOf(spec).envFrom = [{ secretRef: { name: "other" } }]),
  "a hook": (spec) => (containerOf(spec).lifecycle = { postStart: run }),
  "a probe that runs a program": (spec) => (containerOf(spec).livenessProbe = run),
  "a readiness probe": (spec) =>
    (containerOf(spec).readinessProbe = { httpGet: { host: "10.0.0.1", port: 80 } }),
  "a capability": (spec) =>
    (containerOf(spec).securityContext = { capabilities: { add: ["SYS_ADMIN"] } }),
  "a privileged container": (spec) => (containerOf(spec).securityContext = { privileged: true }),
  "no security context": (spec) => delete containerOf(spec).securityContext,
  "no seccomp profile": (spec) =>
    (spec.securityContext = { seccompProfile: { type: "Unconfined" } }),
  "the node's processes": (spec) => {
    Object.assign(spec, { hostPID: true, shareProcessNamespace: false });
  },
  "the node's IPC": (spec) => (spec.hostIPC = true),
  "an additional container": (spec) => spec.containers.push({ name: "b", image }),
  "an init container": (spec) => (spec.initContainers = [{ name: "b", image }]),
  "a termination message elsewhere": (spec) =>
    (containerOf(spec).terminationMessagePath = "/host/kubelet/config.json"),
  "an emptyDir in place of the agents' volume": emptied("global-pull-secret"),
  "containerd's directory, which the installer has not named": (spec) =>
    spec.volumes?.push({
      name: "hosts",
      hostPath: { path: "/etc/containerd/certs.d", type: "DirectoryOrCreate" },
    }),
  "a directory certs.d of the root, while the installer has named none": (spec) =>
    spec.volumes?.push({
      name: "hosts",
      hostPath: { path: "/certs.d", type: "DirectoryOrCreate" },
    }),
  "another path of containerd's directory": (spec) =>
    containerOf(spec).args?.splice(6, 0, "--containerd-path", "/etc"),
  "aliases of hosts": (spec) => (spec.hostAliases = [{ ip: "10.0.0.1", hostnames: ["a"] }]),
};

export const admitted: Readonly<Record<string, () => V1DaemonSet>> = {
  ...Object.fromEntries(
    deliveryModes.map((mode) => [
      `mode ${mode}`,
      () => declared({ delivery: deliveryOf({ mode }, mode) }),
    ]),
  ),
  "pull secrets and another probation": () =>
    declared({ imagePullSecrets: ["a"], probationSeconds: 30 }),
  "the most resources, and no priority class": () => {
    const requests = { cpu: "1", memory: "1Gi" };
    return declared({ pod: { ...agent.pod, requests, limits: requests, priorityClass: "" } });
  },
  "the runtime's SELinux type": () => declared({ seLinuxType: "" }),
  "an address of the loopback": () => declared({ healthzAddress: "::1" }),
  "a restart by kubectl": () =>
    changed((_, { annotations }) => Object.assign(annotations ?? {}, { [restartedAt]: "now" })),
  "variables, another emptyDir and a toleration, which admission may add": () =>
    changed((spec) => {
      const fieldRef = { fieldPath: "status.hostIP" };
      containerOf(spec).env?.push(
        { name: "HTTPS_PROXY", value: "http://proxy.example" },
        { name: "DD_AGENT_HOST", valueFrom: { fieldRef } },
      );
      spec.volumes?.push({ name: "scratch", emptyDir: {} });
      spec.tolerations?.push({ key: "a", operator: "Exists" });
    }),
};

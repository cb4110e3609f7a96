import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1DaemonSet } from "@kubernetes/client-node";
import { agent } from "./agent.fixture.ts";
import { type Agent, nodesOf } from "./agent.ts";
import { daemonSet, templateDigest, role, roleBinding, serviceAccount } from "./daemonset.ts";
import { globalSecret, newSalt } from "./global-secret.ts";

const { spec } = daemonSet(agent, 1);
const pod = spec?.template.spec;
const [container] = pod?.containers ?? [];

test("H12, H13: gives the DaemonSet the promised name, and its pods the promised label", () => {
  const { metadata } = daemonSet(agent, 1);
  assert.equal(`${metadata?.namespace}/${metadata?.name}`, "kube-system/global-pull-secret-syncer");
  assert.equal(spec?.template.metadata?.labels?.["name"], "global-pull-secret-syncer");
  assert.deepEqual(spec?.selector.matchLabels, { name: "global-pull-secret-syncer" });
});

test("H4: runs on every Linux node, whatever its taints, before any network", () => {
  assert.deepEqual(pod?.tolerations, [{ operator: "Exists" }]);
  assert.deepEqual(pod?.nodeSelector, { "kubernetes.io/os": "linux" });
  assert.equal(pod?.hostNetwork, true);
  assert.equal(pod?.priorityClassName, "system-node-critical");
});

test("H23: gives the agent no capability and no way to gain privileges", () => {
  assert.equal(pod?.automountServiceAccountToken, false);
  assert.equal(serviceAccount.automountServiceAccountToken, false);
  assert.deepEqual(container?.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
    appArmorProfile: { type: "Unconfined" },
  });
  assert.equal(pod?.hostPID, undefined);
  assert.deepEqual(pod?.securityContext, {
    runAsUser: 0,
    runAsGroup: 0,
    seccompProfile: { type: "RuntimeDefault" },
    seLinuxOptions: { type: agent.seLinuxType },
  });
});

test("does not make Node the first process, which would ignore a SIGTERM before its handler", () => {
  assert.equal(pod?.shareProcessNamespace, true);
});

test("uses the node's DNS, gets no variables of Services, and shows the end of the log when it dies", () => {
  assert.partialDeepStrictEqual(pod, {
    dnsPolicy: "Default",
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 30,
  });
  assert.partialDeepStrictEqual(container, {
    imagePullPolicy: "IfNotPresent",
    terminationMessagePolicy: "FallbackToLogsOnError",
  });
});

test("H11, H23: lets the agents read one Secret and NodePullSecrets, and write only reports", () => {
  const rights = role.rules?.flatMap(({ resources = [], resourceNames = ["*"], verbs }) =>
    resources.map((resource) => `${resource} ${resourceNames.join()}: ${verbs.join()}`),
  );
  assert.deepEqual(rights, [
    "secrets global-pull-secret: list,watch",
    "nodepullsecrets *: list,watch",
    "nodepullsecrets/status *: patch",
  ]);
});

test("gives root in the agent a token that the kubelet renews each hour, and the API server's authority", () => {
  const volume = pod?.volumes?.find(({ name }) => name === "credentials");
  assert.deepEqual(volume?.projected, {
    defaultMode: 0o400,
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 3600 } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ],
  });
  const mount = container?.volumeMounts?.find(({ name }) => name === "credentials");
  const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
  assert.deepEqual(mount, { name: "credentials", mountPath, readOnly: true });
  assert.ok(container?.command?.includes(`--allow-fs-read=${mountPath}/*`));
});

test("H11: gives ServiceAccount, Role and RoleBinding the promised name and links them", () => {
  for (const { metadata } of [serviceAccount, role, roleBinding])
    assert.equal(metadata?.name, "global-pull-secret-syncer");
  assert.deepEqual([serviceAccount.apiVersion, serviceAccount.kind], ["v1", "ServiceAccount"]);
  assert.equal(roleBinding.roleRef.name, role.metadata?.name);
  assert.equal(pod?.serviceAccountName, serviceAccount.metadata?.name);
});

test("never mounts single files, because a mount keeps the old file when the file is replaced", () => {
  assert.deepEqual(
    pod?.volumes?.map(({ hostPath, name }) => hostPath?.type ?? name),
    ["global-pull-secret", "credentials", "DirectoryOrCreate", "empty", "DirectoryOrCreate"],
  );
  assert.ok(container?.volumeMounts?.every(({ subPath }) => subPath === undefined));
});

const withPod = (change: Partial<Agent["pod"]>, more: Partial<Agent> = {}) =>
  daemonSet({ ...agent, ...more, pod: { ...agent.pod, ...change } }, 1).spec?.template;
const expressions = (template: ReturnType<typeof withPod>) =>
  template?.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
    ?.nodeSelectorTerms;

test("runs no agent on nodes without a kubelet of their own, unless the installer selects these nodes", () => {
  assert.deepEqual(expressions(spec?.template), [
    {
      matchExpressions: [
        { key: "type", operator: "NotIn", values: ["virtual-kubelet", "kwok"] },
        { key: "eks.amazonaws.com/compute-type", operator: "NotIn", values: ["fargate"] },
        { key: "liqo.io/type", operator: "NotIn", values: ["virtual-node"] },
      ],
    },
  ]);
  const everywhere = withPod({ nodes: { text: "", requirements: [] } });
  assert.equal(everywhere?.spec?.affinity, undefined);
});

test("lists the nodes that the installer selects", () => {
  assert.equal(nodesOf(agent), `kubernetes.io/os=linux,${agent.pod.nodes.text}`);
  const everywhere = { ...agent, pod: { ...agent.pod, nodes: { text: "", requirements: [] } } };
  assert.equal(nodesOf(everywhere), "kubernetes.io/os=linux");
});

test("adds the installer's labels and annotations without replacing ours", () => {
  const mine = { name: "x", team: "platform" };
  const said = { "globalpullsecret.io/mode": "Reread", note: "a" };
  const { labels, annotations } = withPod({ labels: mine, annotations: said })?.metadata ?? {};
  assert.deepEqual([labels?.["name"], labels?.["team"]], ["global-pull-secret-syncer", "platform"]);
  assert.deepEqual(
    [annotations?.["globalpullsecret.io/mode"], annotations?.["note"]],
    ["Restart", "a"],
  );
});

test("gives every container the installer's resources, and the pod its priority and pull secrets", () => {
  const template = withPod(
    { requests: {}, limits: { memory: "1Gi" }, priorityClass: "" },
    { imagePullSecrets: ["a", "b"] },
  );
  assert.ok(template?.spec);
  const { containers, initContainers = [], ...rest } = template.spec;
  for (const { resources } of [...containers, ...initContainers])
    assert.deepEqual(resources, { limits: { memory: "1Gi" } });
  assert.equal(rest.priorityClassName, undefined);
  assert.deepEqual(rest.imagePullSecrets, [{ name: "a" }, { name: "b" }]);
  assert.equal(pod?.imagePullSecrets, undefined);
});

test("lets the DaemonSet controller replace as many pods at a time as the caller says, each after 30 s", () => {
  assert.deepEqual(daemonSet(agent, 7).spec?.updateStrategy, {
    type: "RollingUpdate",
    rollingUpdate: { maxUnavailable: 7 },
  });
  assert.equal(spec?.minReadySeconds, 30);
  assert.deepEqual(daemonSet(agent, 7).spec?.template, spec?.template);
});

test("declares no probe, so that the pod is Ready while the container runs", () => {
  assert.equal(container?.readinessProbe, undefined);
  assert.equal(container?.livenessProbe, undefined);
});

test("passes the installer's values and the probation to the agent", () => {
  const text =
    "--unit auto --restart Always --restart-control-plane Never --probation 5s " +
    "--healthz-port 10248 --healthz-address auto";
  assert.deepEqual(container?.args, text.split(" "));
});

const digestIn = (agent: Agent, live?: V1DaemonSet) =>
  daemonSet(agent, 1, live).spec?.template.metadata?.annotations?.["globalpullsecret.io/template"];

test("changes the template digest when the agent changes, or the selected nodes change", () => {
  assert.equal(digestIn(agent), templateDigest(agent));
  assert.notEqual(templateDigest({ ...agent, image: "example.com/gps:2" }), templateDigest(agent));
  const nodes = { text: "", requirements: [] };
  assert.notEqual(
    templateDigest({ ...agent, pod: { ...agent.pod, nodes } }),
    templateDigest(agent),
  );
});

test("keeps the time of a kubectl rollout restart, which changes no digest", () => {
  const live = structuredClone(daemonSet(agent, 1));
  const time = "2026-01-01T00:00:00Z";
  Object.assign(live.spec?.template.metadata?.annotations ?? {}, {
    "kubectl.kubernetes.io/restartedAt": time,
    theirs: "x",
  });
  const { annotations } = daemonSet(agent, 1, live).spec?.template.metadata ?? {};
  assert.equal(annotations?.["kubectl.kubernetes.io/restartedAt"], time);
  assert.equal(annotations?.["theirs"], undefined);
  assert.equal(digestIn(agent, live), digestIn(agent));
});

test("puts no revision into a template, so that a rotation does not change it", () => {
  const names = Object.keys(spec?.template.metadata?.annotations ?? {}).toSorted();
  assert.deepEqual(names, ["globalpullsecret.io/mode", "globalpullsecret.io/template"]);
});

test("mounts both slots of the Secret if it exists, and no other key", () => {
  const { secret } = pod?.volumes?.find(({ name }) => name === "global-pull-secret") ?? {};
  const { items = [], ...others } = secret ?? {};
  assert.deepEqual(others, {
    secretName: "global-pull-secret",
    optional: true,
    defaultMode: 0o400,
  });
  const { data = {} } = globalSecret({
    newest: { document: "{}", sources: "{}", intent: "apply", revision: 1, salt: newSalt() },
    mode: "Restart",
    served: "nothing",
    publishedAt: 1,
    former: "",
  });
  assert.deepEqual(items.map(({ key }) => key).toSorted(), Object.keys(data).toSorted());
});

test("passes unmounts on the node to the agent, so that the agent's mounts do not keep devices busy", () => {
  const mount = container?.volumeMounts?.find(({ name }) => name === "kubelet");
  assert.equal(mount?.mountPropagation, "HostToContainer");
});

const podOf = (change: Partial<Agent>) => daemonSet({ ...agent, ...change }, 1).spec?.template.spec;
const hostPaths = (change: Partial<Agent>) =>
  podOf(change)?.volumes?.flatMap(({ hostPath }) => (hostPath ? [hostPath.path] : []));

test("lets agents write only in the kubelet's directory, so that no container runtime's configuration is writable", () => {
  assert.deepEqual(hostPaths({}), ["/var/lib/kubelet", "/run/systemd"]);
  const mark = "--allow-fs-write=";
  const writes = container?.command?.filter((flag) => flag.startsWith(mark)) ?? [];
  assert.deepEqual(
    writes.map((flag) => flag.slice(mark.length)),
    [
      "/host/kubelet/config.json",
      "/host/kubelet/global-pull-secret/*",
      "/host/kubelet/pull-secret-provider/answer.json",
      "/proc/self/coredump_filter",
    ],
  );
});

test("gives agents that never restart a kubelet no access to systemd", () => {
  assert.deepEqual(hostPaths({}), ["/var/lib/kubelet", "/run/systemd"]);
  assert.deepEqual(hostPaths({ delivery: { mode: "Reread" } }), ["/var/lib/kubelet"]);
  const mounts = podOf({ delivery: { mode: "Reread" } })?.containers[0]?.volumeMounts?.map(
    ({ name }) => name,
  );
  assert.ok(!mounts?.includes("systemd"));
});

test("relaxes AppArmor only if systemd's socket is mounted, and sets the installer's SELinux type", () => {
  const contexts = (change: Partial<Agent>) => {
    const { securityContext, containers } = podOf(change) ?? assert.fail();
    return {
      agent: containers[0]?.securityContext?.appArmorProfile,
      pod: securityContext?.appArmorProfile,
      type: securityContext?.seLinuxOptions?.type,
    };
  };
  const reread = { delivery: { mode: "Reread" } } as const;
  assert.deepEqual(contexts({}), { agent: { type: "Unconfined" }, pod: undefined, type: "spc_t" });
  assert.deepEqual(contexts(reread), { agent: undefined, pod: undefined, type: "spc_t" });
  assert.deepEqual(contexts({ appArmorProfile: "Localhost/gps/agent", seLinuxType: "" }), {
    agent: { type: "Localhost", localhostProfile: "gps/agent" },
    pod: undefined,
    type: undefined,
  });
});

test("covers the folders with other programs' keys, volumes and sockets in every mode, after their parent", () => {
  const folders =
    "pods,pki,checkpoints,plugins,plugins_registry,device-plugins,pod-resources".split(",");
  const covers = folders.map((folder) => `/host/kubelet/${folder} true`);
  for (const delivery of [{ mode: "Restart" }, { mode: "Reread" }, ...providers] as const) {
    const { containers: [agent] = [], volumes = [] } = podOf({ delivery }) ?? {};
    const volume = volumes.find(({ name }) => name === "empty");
    assert.deepEqual(volume, { name: "empty", emptyDir: {} });
    const below = agent?.volumeMounts?.filter(({ mountPath }) => mountPath.startsWith("/host/kub"));
    assert.deepEqual(
      below?.map(({ mountPath, readOnly }) => `${mountPath} ${readOnly}`),
      ["/host/kubelet undefined", ...covers],
      delivery.mode,
    );
  }
});

const providers = (["All", "Annotated"] as const).map(
  (scope) => ({ mode: "CredentialProvider", scope }) as const,
);
for (const delivery of providers)
  test(`gives agents of mode CredentialProvider the scope ${delivery.scope}, and no access to systemd`, () => {
    const { args = [] } = podOf({ delivery })?.containers[0] ?? {};
    const argumentAfter = (flag: string) => args[args.indexOf(flag) + 1];
    assert.deepEqual(["--delivery", "--scope", "--restart"].map(argumentAfter), [
      "CredentialProvider",
      delivery.scope,
      "Never",
    ]);
    assert.deepEqual(hostPaths({ delivery }), ["/var/lib/kubelet"]);
  });

test("gives agents containerd's directory exactly if the installer names it, in every mode", () => {
  const named = { containerdDirectory: "/etc/containerd" };
  const paths = ["/var/lib/kubelet", "/etc/containerd", "/etc/containerd/certs.d"];
  const hosts = /host\/(containerd|certs\.d)/;
  for (const delivery of [{ mode: "Runtime" }, { mode: "Reread" }, ...providers] as const) {
    assert.deepEqual(hostPaths({ delivery, ...named }), paths);
    const {
      command = [],
      args = [],
      volumeMounts = [],
    } = podOf({ delivery, ...named })?.containers[0] ?? {};
    assert.deepEqual(
      command.filter((flag) => hosts.test(flag)),
      [
        "--allow-fs-read=/host/containerd/*",
        "--allow-fs-read=/host/certs.d/*",
        "--allow-fs-write=/host/certs.d/*",
      ],
    );
    assert.equal(args[args.indexOf("--containerd-path") + 1], "/etc/containerd");
    assert.deepEqual(
      volumeMounts.flatMap(({ mountPath, readOnly = false, recursiveReadOnly = "" }) =>
        hosts.test(mountPath) ? `${mountPath} ${readOnly} ${recursiveReadOnly}` : [],
      ),
      ["/host/containerd true IfPossible", "/host/certs.d false "],
    );
    const without = JSON.stringify(podOf({ delivery }));
    assert.ok(!hosts.test(without) && !without.includes("containerd"));
  }
  const { args = [] } = podOf({ delivery: { mode: "Runtime" }, ...named })?.containers[0] ?? {};
  assert.deepEqual(
    ["--delivery", "--restart"].map((flag) => args[args.indexOf(flag) + 1]),
    ["Runtime", "Never"],
  );
});

test("passes no provider flags to agents in the other modes", () => {
  for (const mode of ["Restart", "Reread"] as const)
    assert.ok(!podOf({ delivery: { mode } })?.containers[0]?.args?.includes("--delivery"));
});

test("gives agents of every mode the same writable paths, so that each can empty an old answer of the credential provider", () => {
  const commandOf = (delivery: Agent["delivery"]) => podOf({ delivery })?.containers[0]?.command;
  for (const delivery of [...providers, { mode: "Reread" } as const])
    assert.deepEqual(commandOf(delivery), container?.command);
});

test("lists no writable path that begins with the path of another writable folder", () => {
  const mark = "--allow-fs-write=";
  const { command = [] } = container ?? {};
  const paths = command.flatMap((flag) => (flag.startsWith(mark) ? [flag.split("=")[1]] : []));
  for (const folder of paths.filter((path) => path?.endsWith("/*")))
    for (const path of paths)
      assert.ok(path === folder || !path?.startsWith(folder?.slice(0, -2) ?? ""), path);
});

test("mounts systemd's directory recursively read-only if the container runtime supports it", () => {
  const mount = container?.volumeMounts?.find(({ name }) => name === "systemd");
  assert.deepEqual(mount, {
    name: "systemd",
    mountPath: "/host/systemd",
    readOnly: true,
    recursiveReadOnly: "IfPossible",
  });
});

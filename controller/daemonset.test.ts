import assert from "node:assert/strict";
import { test } from "node:test";
import { parseConfig } from "./config.ts";
import { daemonSet, templateDigest, type Agent } from "./daemonset.ts";
import { role, roleBinding, serviceAccount } from "./rbac.ts";

const parsed = parseConfig([]);
assert.ok(parsed.ok);
const agent: Agent = { ...parsed.config.agent, image: "example.com/gps:1", minReadySeconds: 5 };
const strategy = { stage: "canary", maxUnavailable: 1 } as const;
const spec = daemonSet(agent, 7, strategy).spec;
const pod = spec?.template.spec;
const [container] = pod?.containers ?? [];

test("H12, H13: the DaemonSet has the promised name, and its pods the promised label", () => {
  const { metadata } = daemonSet(agent, 7, strategy);
  assert.equal(`${metadata?.namespace}/${metadata?.name}`, "kube-system/global-pull-secret-syncer");
  assert.equal(spec?.template.metadata?.labels?.["name"], "global-pull-secret-syncer");
  assert.deepEqual(spec?.selector.matchLabels, { name: "global-pull-secret-syncer" });
});

test("H4: it runs on every Linux node, whatever its taints, before any network", () => {
  assert.deepEqual(pod?.tolerations, [{ operator: "Exists" }]);
  assert.deepEqual(pod?.nodeSelector, { "kubernetes.io/os": "linux" });
  assert.equal(pod?.affinity, undefined);
  assert.equal(pod?.hostNetwork, true);
  assert.equal(pod?.priorityClassName, "system-node-critical");
});

test("H23: the agent has no token, no capability and no way to gain privileges", () => {
  assert.equal(pod?.automountServiceAccountToken, false);
  assert.equal(serviceAccount.automountServiceAccountToken, false);
  assert.deepEqual(container?.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.equal(pod?.hostPID, undefined);
  assert.equal(pod?.securityContext?.seccompProfile?.type, "RuntimeDefault");
  assert.deepEqual(role.rules, []);
});

test("H11: ServiceAccount, Role and RoleBinding have the promised name and belong together", () => {
  for (const { metadata } of [serviceAccount, role, roleBinding])
    assert.equal(metadata?.name, "global-pull-secret-syncer");
  assert.equal(roleBinding.roleRef.name, role.metadata?.name);
  assert.equal(pod?.serviceAccountName, serviceAccount.metadata?.name);
});

test("single files are never mounted: a replaced file would stay the old one for ever", () => {
  assert.deepEqual(
    pod?.volumes?.map(({ hostPath, secret }) => hostPath?.type ?? secret?.secretName),
    ["global-pull-secret", "Directory", "Directory"],
  );
  assert.ok(container?.volumeMounts?.every(({ subPath }) => subPath === undefined));
});

test("the probe looks every second but the first, on the loopback, at the port that the agent was given", () => {
  const other = daemonSet({ ...agent, probePort: 1234 }, 7, strategy).spec?.template.spec?.containers[0];
  assert.equal(other?.readinessProbe?.httpGet?.port, 1234);
  assert.equal(other?.readinessProbe?.httpGet?.host, "127.0.0.1");
  assert.equal(other?.readinessProbe?.periodSeconds, 1);
  assert.equal(other?.readinessProbe?.initialDelaySeconds, 1);
  assert.deepEqual(other?.args?.slice(-2), ["--probe-port", "1234"]);
});

const probed = (revision: number) =>
  daemonSet(agent, revision, strategy).spec?.template.spec?.containers[0]?.readinessProbe?.httpGet?.path;

test("the probe asks for the pod's own revision: the agent that holds the port does not answer for another's", () => {
  assert.deepEqual([probed(0), probed(7)], ["/readyz?revision=0", "/readyz?revision=7"]);
});

test("the trial is the agent's, and Kubernetes waits out the false Ready in its last part", () => {
  assert.deepEqual(
    container?.args,
    "--unit kubelet.service --restart Always --settle 5 --healthz-port 10248 --probe-port 20248".split(" "),
  );
  assert.equal(daemonSet({ ...agent, minReadySeconds: 30 }, 1, strategy).spec?.minReadySeconds, 3);
});

test("the digest tells agents apart, not revisions", () => {
  assert.notEqual(templateDigest({ ...agent, image: "example.com/gps:2" }), templateDigest(agent));
  const digest = (revision: number) =>
    daemonSet(agent, revision, strategy).spec?.template.metadata?.annotations?.["global-pull-secret/template"];
  assert.equal(digest(7), digest(8));
});

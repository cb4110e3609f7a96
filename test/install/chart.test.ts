/** The chart's values are documented, checked and used. */
import assert from "node:assert/strict";
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { temporary } from "#test/temporary.ts";
import { load } from "js-yaml";
import { parseConfig } from "#controller/policy/config.ts";
import { fleetCrdFile, nodeCrdFile, ourCrd, syncCrdFile } from "#tools/definition/crd.ts";
import { annotationOf } from "#tools/install/bounds.ts";
import { alerts, type Program } from "#tools/install/alerts.ts";
import { objectsOf, textOf, type KubeObject } from "#tools/install/yaml.ts";
import { badSamples, samples } from "#tools/install/flag-samples.fixture.ts";
import { flagValues, roles, usedBy, type Role } from "#tools/install/values-schema.ts";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { globalPullSecretPath, leaseIn } from "#kube/client/paths.ts";
import { deployment, installation } from "#plugin/removal/objects.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { object, conditionsOf } from "#plugin/object.fixture.ts";
import { linesOf } from "../plugin/shown-lines.ts";
import { run } from "../cluster/run.ts";
import { helm as program } from "./go-tools.ts";
import { chart, helm } from "./helm.ts";
import { byName, charted, inRole, kustomized, nameOf } from "./kustomize.ts";

type Rule = Readonly<{ resources: readonly string[]; verbs: readonly string[] }>;

const isHook = ({ metadata }: KubeObject): boolean =>
  "helm.sh/hook" in (metadata.annotations ?? {});

/** The objects of the release, by name. */
const released = async (...args: readonly string[]): Promise<Record<string, KubeObject>> =>
  byName((await charted(...args)).filter((object) => !isHook(object)));

const name = "app.kubernetes.io/name";
const standardLabels = [
  name,
  "app.kubernetes.io/instance",
  "app.kubernetes.io/version",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/part-of",
  "helm.sh/chart",
];

test("passes helm lint", async () => {
  const output = await helm(tmpdir(), "lint", "--strict", chart);
  assert.match(output, /1 chart\(s\) linted, 0 chart\(s\) failed/);
});

test("kubectl apply -k manifests installs the chart's objects, except GlobalPullSecret, with the image of images:", async () => {
  const [newName, newTag] = ["registry.example.com:5000/public/gps", "7"];
  const images = [{ name: "global-pull-secret", newName, newTag }];
  const installed = await kustomized({ resources: ["."], images });
  const { "GlobalPullSecret/cluster": _, ...objects } = await released();
  const crds = [ourCrd(), ourCrd(nodeCrdFile)] as unknown as KubeObject[];
  assert.deepEqual(
    Object.keys(byName(installed)).toSorted(),
    [...Object.keys(objects), ...crds.map(nameOf)].toSorted(),
  );
  const deployment = installed.find(({ kind }) => kind === "Deployment") ?? assert.fail();
  const pod = (deployment["spec"] as { template: { spec: Pod } }).template.spec;
  assert.deepEqual(
    pod.containers.map(({ image }) => image),
    [`${newName}:${newTag}`],
  );
  const account = installed.find(({ kind }) => kind === "ServiceAccount");
  assert.equal(
    account?.metadata.annotations?.[annotationOf("agent-image")],
    `${newName}:${newTag}`,
  );
});

test("uninstall of the plugin deletes exactly the chart's objects with all values, and the Lease", async () => {
  const parts = ["monitoring", "networkPolicy", "admission", "annotated"];
  const sets = parts.map((part) => `--set=${part}.enabled=true`);
  const sources = ["--set=original=kube-system/pull-secret", "--set=extraSources={team-a}"];
  // The deletion of the CRD deletes its object.
  const { "GlobalPullSecret/cluster": _, ...objects } = await released(...sets, ...sources);
  const names = Object.values(objects).map(nameOf);
  const removed = installation.map(({ kind, name }) => `${kind}/${name}`);
  assert.deepEqual(
    removed.filter((name) => !name.startsWith("Lease/")).toSorted(),
    [...names, "CustomResourceDefinition/nodepullsecrets.globalpullsecret.io"].toSorted(),
    "list the object in plugin/removal/objects.ts, in the order of removal",
  );
});

for (const page of ["README.md", "docs/use/quick-start.md"])
  test(`the helm command on ${page} renders the chart's default objects with the page's image`, async () => {
    const line = linesOf(readFileSync(page, "utf8")).find((candidate) =>
      candidate.startsWith("helm "),
    );
    const template = line?.replace("helm install ", "helm template ") ?? "";
    const repository = /--set image\.repository=(\S+)$/.exec(template)?.[1];
    const path = [dirname(await program()), process.env["PATH"]].join(delimiter);
    const rendered = await run(["bash", "-c", template], { env: { ...process.env, PATH: path } });
    assert.deepEqual(objectsOf(rendered), await charted(`--set=image.repository=${repository}`));
  });

const guest = ["--set=role=Hosted", "--namespace=clusters-guest"];

test("drops the right to read the controller's own pod when flags.agentImage is given", async () => {
  for (const role of [[], guest]) {
    const verbs = async (...args: readonly string[]) => {
      const objects = await charted(...role, ...args);
      const rules = objects.flatMap(({ kind, rules }) =>
        kind === "Role" ? (rules as Rule[]) : [],
      );
      return rules.find(({ resources }) => resources.includes("pods"))?.verbs;
    };
    const [all = [], few = []] = [
      await verbs(),
      await verbs("--set=flags.agentImage=a.example/b:1"),
    ];
    assert.deepEqual(
      few,
      all.filter((verb) => verb !== "get"),
    );
    assert.ok(all.includes("get"));
  }
});

const monitoringOn = "--set=monitoring.enabled=true";

const isCrd = ({ kind }: KubeObject) => kind === "CustomResourceDefinition";

const monitors = (objects: readonly KubeObject[]): KubeObject[] =>
  objects.filter(({ apiVersion }) => apiVersion === "monitoring.coreos.com/v1");

const programs: Readonly<Record<Role, Program>> = {
  Cluster: "controller",
  Hosted: "controller",
  Fleet: "fleet",
  SyncManagement: "sync-management",
  SyncTenant: "sync-tenant",
};

for (const role of roles)
  test(`role ${role}: scrapes the pods of its own namespace, and alerts only on their metrics`, async () => {
    const sets = [monitoringOn, "--set=monitoring.labels.release=prom"];
    const objects = await charted(...inRole(role), ...sets);
    const its = monitors(objects);
    assert.deepEqual(its.map(({ kind }) => kind).toSorted(), ["PodMonitor", "PrometheusRule"]);
    const deployment = objects.find(({ kind }) => kind === "Deployment")?.["spec"];
    const namespace = role === "Hosted" ? "clusters-guest" : "kube-system";
    for (const { metadata } of its) {
      const { labels } = metadata as { labels?: Record<string, string> };
      assert.deepEqual([metadata.namespace, labels?.["release"]], [namespace, "prom"]);
    }
    const specOf = (kind: string) => its.find((object) => object.kind === kind)?.["spec"];
    const { selector } = specOf("PodMonitor") as { selector: object };
    assert.deepEqual(selector, (deployment as { selector: object }).selector);
    type Texts = Readonly<Record<string, string>>;
    type Rule = Readonly<{ alert: string; expr: string; labels: Texts; annotations: Texts }>;
    const { groups } = specOf("PrometheusRule") as { groups: readonly { rules: Rule[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    const own = alerts.filter(({ of }) => of.includes(programs[role]));
    const inGuest = (text: string) =>
      text
        .replace("In the cluster,", "In the guest cluster of namespace clusters-guest,")
        .replaceAll(/kube-system (?=-l|deploy)/g, "clusters-guest ");
    assert.deepEqual(
      rules.map(({ alert, annotations }) => ({ alert, ...annotations })),
      own.map(({ alert, summary, description }) => ({
        alert,
        summary,
        description: role === "Hosted" ? inGuest(description) : description,
      })),
    );
    for (const { expr, labels } of rules) {
      const metrics = expr.match(/global_pull_secret_\w+/g) ?? [];
      const selected = expr.match(/global_pull_secret_\w+\{namespace="([a-z-]+)"/g) ?? [];
      assert.ok(metrics.length > 0, expr);
      assert.equal(selected.length, metrics.length, expr);
      for (const metric of selected) assert.ok(metric.endsWith(`"${namespace}"`), expr);
      assert.equal(labels["namespace"], namespace);
    }
  });

test("two releases in one namespace share no monitoring object", async () => {
  const all = [];
  for (const role of roles)
    if (role !== "Hosted") all.push(...monitors(await charted(...inRole(role), monitoringOn)));
  assert.equal(new Set(all.map(nameOf)).size, 2 * (roles.length - 1));
});

test("role SyncTenant requires the management namespace", async () => {
  await assert.rejects(charted("--set=role=SyncTenant"), /managementNamespace is not set/);
});

test("links alerts to the docs that a value names", async () => {
  const docs = "--set=monitoring.docs=https://docs.example.com/pull-secret/";
  const texts = JSON.stringify(monitors(await charted(monitoringOn, docs)));
  for (const { of, runbook } of alerts.filter(({ of }) => of.includes("controller")))
    assert.ok(
      texts.includes(
        `https://docs.example.com/pull-secret/${runbook.replace("docs/", "").replace(".md", ".html")}"`,
      ),
      `${of.join()}: ${runbook}`,
    );
});

for (const [role, kind] of [
  ["Fleet", "FleetSecret"],
  ["SyncManagement", "SyncSecret"],
  ["SyncTenant", "SyncSecret"],
] as const)
  test(`role ${role}: installs the CRD of ${kind} unchanged, and keeps it on uninstall`, async () => {
    const file = kind === "FleetSecret" ? fleetCrdFile : syncCrdFile;
    const crds = (await charted(...inRole(role))).filter(isCrd);
    assert.deepEqual(
      crds.map(({ metadata, spec }) => [metadata.annotations, spec]),
      [[{ "helm.sh/resource-policy": "keep" }, ourCrd(file).spec]],
    );
    const none = await charted(...inRole(role), "--set=crds.install=false");
    assert.deepEqual(none.filter(isCrd), []);
  });

test("adds the standard labels to every object, and uses only the name in selectors", async () => {
  for (const role of roles)
    for (const object of await charted(...inRole(role))) {
      const { labels = {} } = object.metadata as { labels?: Record<string, string> };
      for (const label of standardLabels) assert.ok(labels[label], `${nameOf(object)}: ${label}`);
      const { selector } = (object["spec"] ?? {}) as { selector?: { matchLabels?: object } };
      if (selector?.matchLabels) assert.deepEqual(Object.keys(selector.matchLabels), [name]);
    }
});

const policy = { managementState: "Paused", rollout: { maxUnavailable: "25%" } };
const withPolicy = `--set-json=policy=${JSON.stringify(policy)}`;

/** The plugin's arguments in a hook's Job. */
async function hookCommand(job: string, ...args: readonly string[]) {
  const pod = (await podsOf(...args)).get(`Job/global-pull-secret-${job}`);
  if (pod === undefined) return undefined;
  assert.deepEqual([pod.containers.length, pod.initContainers], [1, undefined]);
  const { command = [] } = pod.containers[0] ?? {};
  assert.deepEqual(command.slice(0, 2), ["/nodejs/bin/node", "/app/plugin.cjs"]);
  return command.slice(2);
}

/** The spec in the plugin's only write. */
function writtenBy({ writes }: FakeCluster): object | undefined {
  assert.equal(writes.length, 1);
  return (writes.find(({ verb }) => verb === "patch")?.body as GlobalPullSecret | undefined)?.spec;
}

/**
 * A cluster with this spec, and a Lease with this holder: empty if the controller has ended,
 * undefined if there is no Lease.
 */
function installed(holderIdentity: string | undefined, spec?: GlobalPullSecretSpec): FakeCluster {
  const cluster = new FakeCluster();
  if (holderIdentity !== undefined)
    cluster.objects.set(leaseIn("kube-system"), { spec: { holderIdentity } });
  if (spec !== undefined) cluster.objects.set(globalPullSecretPath, object({ spec }));
  const annotations = { "meta.helm.sh/release-name": "gps" };
  cluster.objects.set(deployment.path, { metadata: { annotations } });
  return cluster;
}

test("installs the object with the policy as its spec, and changes no other object", async () => {
  const policies = [
    {},
    policy,
    { rollout: { maxFailures: "50%" } },
    { conflictPolicy: "PreferOriginal" },
  ];
  const { "GlobalPullSecret/cluster": _, ...usual } = await released();
  for (const spec of policies) {
    const { "GlobalPullSecret/cluster": cluster, ...others } = await released(
      `--set-json=policy=${JSON.stringify(spec)}`,
    );
    assert.deepEqual(cluster?.["spec"], spec);
    assert.deepEqual(others, usual);
  }
});

test("installs the object only in role Cluster, and its CRD before it, from crds/", async () => {
  for (const role of roles.filter((role) => role !== "Cluster"))
    assert.equal((await released(...inRole(role)))["GlobalPullSecret/cluster"], undefined);
  const crds = objectsOf(await helm(tmpdir(), "show", "crds", chart));
  assert.deepEqual(crds, [ourCrd(), ourCrd(nodeCrdFile)]);
});

test("on uninstall with a running controller, withdraws and waits, even if the policy declares another state", async () => {
  const words = (await hookCommand("withdraw", withPolicy)) ?? [];
  assert.deepEqual(words, await hookCommand("withdraw"));
  const cluster = installed("a", policy as GlobalPullSecretSpec);
  cluster.before = ({ path }) => {
    const conditions = conditionsOf("nobody", "Withdrawn", "nothing of ours is left");
    const spec = { managementState: "Withdrawn" } as const;
    cluster.objects.set(path, object({ spec, status: { conditions } }));
  };
  const { code, err } = await call(words, { cluster });
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(writtenBy(cluster), { managementState: "Withdrawn" });
});

test("withdraws nothing on uninstall if no controller runs", async () => {
  for (const [holder, expectedCode] of [
    [undefined, 0],
    ["", 1],
  ] as const) {
    const cluster = installed(holder, {});
    const { code } = await call((await hookCommand("withdraw")) ?? [], { cluster });
    assert.deepEqual([code, cluster.writes], [expectedCode, []]);
  }
});

test("renders no hook with hooks.enabled=false, so that kubectl apply starts no Job", async () => {
  for (const role of roles) {
    const objects = await charted(...inRole(role), "--set=hooks.enabled=false");
    assert.deepEqual(objects.filter(isHook).map(nameOf), []);
    const usual = (await charted(...inRole(role))).filter((object) => !isHook(object));
    assert.deepEqual(objects, usual);
  }
});

/**
 * Hook Job → its event, its deadline in seconds, and the verbs of its account on GlobalPullSecrets.
 */
const hooks = {
  withdraw: ["pre-delete", 300, ["get", "list", "watch", "patch"]],
  test: ["test", 300, ["get", "list", "watch"]],
} as const;

test("runs each hook at its event, with its rights, resources, limits and labels", async () => {
  const resources = { limits: { memory: "65Mi" }, requests: { cpu: "11m", memory: "65Mi" } };
  const objects = await charted(
    "--set=controller.podLabels.team=a",
    "--set=controller.podAnnotations.mesh=off",
    `--set-json=controller.resources=${JSON.stringify(resources)}`,
  );
  const jobs = objects.filter(({ kind }) => kind === "Job").map(({ metadata }) => metadata.name);
  const expected = Object.keys(hooks).map((hook) => `global-pull-secret-${hook}`);
  assert.deepEqual(jobs.toSorted(), expected.toSorted());
  for (const [job, [event, seconds, verbs]] of Object.entries(hooks)) {
    const its = objects.filter(({ metadata }) => metadata.name === `global-pull-secret-${job}`);
    const kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Job"];
    assert.deepEqual(its.map(({ kind }) => kind).toSorted(), kinds.toSorted());
    for (const object of its) assert.equal(object.metadata.annotations?.["helm.sh/hook"], event);
    const role = its.find(({ kind }) => kind === "ClusterRole");
    const read = { resourceNames: ["global-pull-secret-controller"], verbs: ["get"] };
    const controller = [
      { apiGroups: ["apps"], resources: ["deployments"], ...read },
      { apiGroups: ["coordination.k8s.io"], resources: ["leases"], ...read },
    ];
    assert.deepEqual(role?.["rules"], [
      {
        apiGroups: ["globalpullsecret.io"],
        resources: ["globalpullsecrets"],
        resourceNames: ["cluster"],
        verbs,
      },
      ...(job === "withdraw" ? controller : []),
    ]);
    const spec = its.find(({ kind }) => kind === "Job")?.["spec"] as Readonly<{
      template: Readonly<{
        metadata: Readonly<{ labels: object; annotations?: object }>;
        spec: Readonly<{ containers: readonly Readonly<{ resources: object }>[] }>;
      }>;
    }>;
    const { template, ...how } = spec;
    assert.deepEqual(how, {
      backoffLimit: 0,
      activeDeadlineSeconds: seconds,
      ttlSecondsAfterFinished: 3600,
    });
    assert.deepEqual(template.metadata.labels, { [name]: `global-pull-secret-${job}`, team: "a" });
    assert.deepEqual(template.metadata.annotations, { mesh: "off" });
    assert.deepEqual(template.spec.containers[0]?.resources, resources);
  }
});

test("gives the uninstall's Job a minute more than uninstall.timeout", async () => {
  for (const [timeout, seconds] of [
    ["90s", 150],
    ["15m", 960],
    ["1h", 3660],
  ] as const) {
    const objects = await charted(`--set=uninstall.timeout=${timeout}`);
    const job = objects.find((object) => nameOf(object) === "Job/global-pull-secret-withdraw");
    const spec = job?.["spec"] as { activeDeadlineSeconds?: number } | undefined;
    assert.equal(spec?.activeDeadlineSeconds, seconds);
    const words = (await hookCommand("withdraw", `--set=uninstall.timeout=${timeout}`)) ?? [];
    assert.ok(words.includes(`--wait=${timeout}`));
  }
});

/** Helm's hook → Argo CD's hook. Argo CD ignores Helm's other hooks. */
const ofArgo: Readonly<Record<string, string>> = {
  "pre-delete": "PreDelete",
  "post-delete": "PostDelete",
};

test("maps the uninstall hooks of each object to exactly one phase of Argo CD", async () => {
  const hooks = (await charted(withPolicy)).filter(isHook);
  const phases = hooks.map((hook) => {
    const names = hook.metadata.annotations?.["helm.sh/hook"]?.split(",") ?? [];
    const phases = [...new Set(names.flatMap((name) => ofArgo[name] ?? []))];
    assert.equal(phases.length, names.includes("test") ? 0 : 1, nameOf(hook));
    return [nameOf(hook), phases[0]] as const;
  });
  const jobs = Object.fromEntries(phases.filter(([name]) => name.startsWith("Job/")));
  assert.deepEqual(jobs, {
    "Job/global-pull-secret-test": undefined,
    "Job/global-pull-secret-withdraw": "PreDelete",
  });
});

test("helm test waits for the nodes, and fails if there is no source or the policy is Withdrawn", async () => {
  const words = (await hookCommand("test")) ?? [];
  assert.deepEqual(words.slice(0, 2), ["wait", "--timeout=4m"]);
  for (const [managementState, reason, expectedCode] of [
    ["Managed", "InForce", 0],
    ["Withdrawn", "Withdrawn", 1],
    ["Managed", "NoSource", 3],
  ] as const) {
    const enough = new AbortController();
    const received = () => enough.abort();
    const cluster = new FakeCluster();
    const conditions = conditionsOf("nobody", reason, "so it is");
    const reported = object({ spec: { managementState }, status: { conditions } });
    cluster.objects.set(globalPullSecretPath, reported);
    const { code } = await call(words, { cluster, received, signal: enough.signal });
    assert.equal(code, expectedCode, `${managementState} ${reason}`);
  }
});

test("has values for variables, volumes, zones, ports and the account's annotations", async () => {
  const volume = { name: "ca", configMap: { name: "ca" } };
  const mount = { name: "ca", mountPath: "/etc/ca" };
  const variable = { name: "HTTPS_PROXY", value: "http://proxy:3128" };
  const spread = { maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" };
  for (const role of roles) {
    const deployment = (objects: readonly KubeObject[]) =>
      objects.find(({ kind }) => kind === "Deployment")?.["spec"] as { template: { spec: Pod } };
    const before = deployment(await charted(...inRole(role))).template.spec;
    const customized = await charted(
      ...inRole(role),
      "--set=serviceAccount.annotations.a\\.b/role=x",
      `--set-json=controller.extraEnv=${JSON.stringify([variable])}`,
      `--set-json=controller.extraVolumes=${JSON.stringify([volume])}`,
      `--set-json=controller.extraVolumeMounts=${JSON.stringify([mount])}`,
      `--set-json=controller.topologySpreadConstraints=${JSON.stringify([spread])}`,
    );
    const after = deployment(customized).template.spec;
    const [was, is] = [before.containers[0], after.containers[0]];
    assert.deepEqual(is?.env, [...(was?.env ?? []), variable]);
    assert.deepEqual(is?.volumeMounts, [...(was?.volumeMounts ?? []), mount]);
    assert.deepEqual(after.volumes, [...(before.volumes ?? []), volume]);
    assert.deepEqual(after.topologySpreadConstraints, [spread]);
    const account = customized.find(
      (object) => object.kind === "ServiceAccount" && !isHook(object),
    );
    assert.equal(account?.metadata.annotations?.["a.b/role"], "x");
  }
  const none = await podsOf("--set-json=controller.topologySpreadConstraints=[]");
  const pod = none.get("Deployment/global-pull-secret-controller");
  assert.equal(pod?.topologySpreadConstraints, undefined);
});

test("allows connections to networkPolicy.apiServerPorts, DNS and registries", async () => {
  const sets = ["--set=networkPolicy.enabled=true", "--set=networkPolicy.apiServerPorts={8443}"];
  const spec = (await released(...sets))["NetworkPolicy/global-pull-secret-controller"]?.["spec"];
  const { egress } = spec as { egress: readonly object[] };
  const registries = [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
    { protocol: "TCP", port: 443 },
  ];
  assert.deepEqual(egress, [{ ports: [{ protocol: "TCP", port: 8443 }] }, { ports: registries }]);
});

for (const [role, namespace, name] of [
  ["Cluster", "kube-system", "controller"],
  ["Hosted", "clusters-guest", "controller"],
  ["Fleet", "kube-system", "fleet"],
  ["SyncManagement", "kube-system", "sync-management"],
  ["SyncTenant", "kube-system", "sync-tenant"],
] as const)
  test(`role ${role}: deletes the program's Lease on uninstall, and lets its objects be deleted`, async () => {
    const objects = await charted(...inRole(role));
    const leases = objects.filter(({ kind }) => kind === "Lease");
    assert.deepEqual(
      leases.map((lease) => [lease.metadata.namespace, lease.metadata.name, isHook(lease)]),
      [[namespace, `global-pull-secret-${name}`, true]],
    );
    const jobs = objects.filter(({ kind }) => kind === "Job").map((job) => job.metadata.name);
    const released = { Fleet: "fleetsecrets", SyncTenant: "syncsecrets" }[role as string];
    if (role === "Cluster") assert.equal(jobs.length, 2);
    else assert.deepEqual(jobs, released ? [`global-pull-secret-release-${released}`] : []);
    if (released === undefined) return;
    const account = objects.find(
      ({ kind, metadata }) => kind === "ClusterRole" && metadata.name === jobs[0],
    );
    assert.partialDeepStrictEqual(account, {
      metadata: { annotations: { "helm.sh/hook": "post-delete" } },
      rules: [{ resources: [released], verbs: ["get", "list", "patch"] }],
    });
    const words = await hookCommand(`release-${released}`, ...inRole(role));
    assert.deepEqual(words, ["fleet", "release", released, "--yes"]);
  });

test("omits the PodDisruptionBudget for a single controller, because it would block drains", async () => {
  const { "PodDisruptionBudget/global-pull-secret-controller": budget, ...others } =
    await released();
  assert.ok(budget);
  const singleReplica = await released("--set=controller.replicas=1");
  assert.deepEqual(Object.keys(singleReplica), Object.keys(others));
});

type Container = Readonly<{
  image: string;
  command?: readonly string[];
  args?: readonly string[];
  env?: readonly object[];
  volumeMounts?: readonly object[];
}>;

type Pod = Readonly<{
  imagePullSecrets?: readonly object[];
  tolerations?: readonly { key: string }[];
  priorityClassName?: string;
  volumes?: readonly object[];
  topologySpreadConstraints?: readonly object[];
  containers: readonly Container[];
  initContainers?: readonly Container[];
}>;

async function podsOf(...args: readonly string[]): Promise<Map<string, Pod>> {
  const objects = (await charted(...args)).filter(({ kind }) => /^(Deployment|Job)$/.test(kind));
  type Spec = { template: { spec: Pod } };
  return new Map(objects.map((object) => [nameOf(object), (object["spec"] as Spec).template.spec]));
}

const controllerArgs = async (...args: readonly string[]): Promise<readonly string[]> =>
  (await podsOf(...args)).get("Deployment/global-pull-secret-controller")?.containers[0]?.args ??
  [];

test("applies image digest, pull secrets and tolerations to every pod", async () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const pods = await podsOf(
    "--set=image.repository=a.example/b",
    `--set=image.digest=${digest}`,
    "--set=imagePullSecrets[0].name=mirror",
    "--set=controller.tolerations[0].key=own",
  );
  assert.equal(pods.size, 3);
  for (const pod of pods.values()) {
    for (const { image } of [...pod.containers, ...(pod.initContainers ?? [])])
      assert.equal(image, `a.example/b@${digest}`);
    assert.deepEqual(pod.imagePullSecrets, [{ name: "mirror" }]);
    assert.equal(pod.tolerations?.[0]?.key, "own");
  }
});

test("passes the value of each controller flag in a form that the controller reads", async () => {
  assert.deepEqual(Object.keys(samples).toSorted(), Object.keys(flagValues).toSorted());
  const args = await controllerArgs(
    "--set=original=kube-system/pull-secret",
    `--set-json=flags=${JSON.stringify(samples)}`,
  );
  const parsed = parseConfig(args);
  assert.ok(parsed.ok, parsed.ok ? "" : parsed.errors.join("\n"));
  const expectedValues = Object.values(samples).flat().map(String);
  const received = args.map((argument) => argument.replace(/^[^=]*=/, ""));
  assert.deepEqual(received.toSorted(), [...expectedValues, "kube-system/pull-secret"].toSorted());
});

test("refuses a flag's value that the controller would refuse", async () => {
  for (const [flag, value] of Object.entries(badSamples))
    await assert.rejects(
      charted(`--set-json=flags.${flag}=${JSON.stringify(value)}`),
      new RegExp(`/flags/${flag}|flags\\.${flag}`),
      flag,
    );
});

test("passes only flags that are set", async () => {
  assert.deepEqual(await controllerArgs(), []);
});

const refused: readonly (readonly [set: string, message: RegExp])[] = [
  ["image.digest=latest", /image\/digest|image\.digest/],
  ["image.pullPolicy=Sometimes", /pullPolicy/],
  ["original=pull-secret", /original/],
  ["extraSources={Team_A}", /extraSources/],
  ["flags.maxUnavailable=1", /maxUnavailable/],
  ["flags.protect=quay.io", /protect/],
  ["controller.replicas=0", /replicas/],
  ["networkPolicy=true", /networkPolicy/],
  ["role=Guest", /role/],
  ["hosted.kubeconfig.key=a/b", /key/],
  ["fleet.sources={Team_A}", /sources/],
  ["uninstall.timeout=soon", /timeout/],
  ["uninstall.timeout=30s1m", /timeout/],
  ["tolerations=x", /tolerations/],
  ["policy.rollout.maxUnavailable=0%", /maxUnavailable/],
  ["policy.rollout.maxUnavailible=1", /maxUnavailible/],
  ["policy.managementState=Off", /managementState/],
  ["networkPolicy.apiServerPorts={}", /apiServerPorts/],
  ["monitoring.enabled=true,monitoring.labels.app\\.kubernetes\\.io/name=x", /propertyName 'app\./],
  ["serviceAccount.annotations.globalpullsecret\\.io/agent-image=x", /annotations/],
];
for (const [set, message] of refused)
  test(`refused: --set ${set}`, async () => {
    await assert.rejects(charted(`--set=${set}`), message);
  });

const volume = '[{"name":"ca","mountPath":"/ca"}]';
const contradictions: readonly (readonly [sets: string, message: RegExp])[] = [
  ["policy.delivery.mode=CredentialProvider", /policy\.delivery\.mode is .* flags\.deliveryModes/],
  ["policy.delivery.mode=Restart flags.deliveryModes={Reread}", /allows Reread only/],
  ["flags.deliveryModes[0]=Restart\\,Runtime", /allows Runtime, .*flags\.containerdDirectory=/],
  [
    "policy.rollout.maxUnavailable=30% flags.maxUnavailableLimit=25%",
    /maxUnavailable is 30%, but flags\.maxUnavailableLimit is 25%/,
  ],
  ["policy.rollout.maxUnavailable=3 flags.maxUnavailableLimit=25%", /cannot be compared/],
  ["monitoring.docs=https://a.example", /monitoring\.docs is set, .*monitoring\.enabled=true/],
  ["monitoring.alertLabels.team=a", /monitoring\.alertLabels is set, .*monitoring\.enabled=true/],
  ["monitoring.disabledAlerts={GlobalPullSecretRejected}", /monitoring\.disabledAlerts is set/],
  [
    'json:policy={"sources":[{"name":"a","secretRef":{"name":"team-a"}}]}',
    /policy\.sources names the Secret team-a, .* Add it to extraSources\./,
  ],
  ["global.imageRegistry=a.example", /global\.imageRegistry is set, .* Set image\.repository /],
  ["monitoring.labels.release=prom", /monitoring\.labels is set, .*monitoring\.enabled=true/],
  ["networkPolicy.apiServerPorts={8443}", /apiServerPorts is set, .*networkPolicy\.enabled=true/],
  ["uninstall.timeout=9m uninstall.withdraw=false", /uninstall\.timeout is set, .*withdraw=true/],
  ["uninstall.timeout=9m hooks.enabled=false", /uninstall\.timeout is set, .*hooks\.enabled=true/],
  ["controller.podLabels.app\\.kubernetes\\.io/name=x", /controller\.podLabels has app\./],
  [`json:controller.extraVolumeMounts=${volume}`, /names the volume ca, .*extraVolumes/],
  [
    'json:policy={"delivery":{"mode":"CredentialProvider","credentialProvider":{"scope":"Annotated"}}} flags.deliveryModes={CredentialProvider}',
    /scope is Annotated, .*annotated\.enabled=true/,
  ],
];
const flagsOf = (sets: string): readonly string[] =>
  sets.split(" ").map((set) => set.replace(/^(json:)?/, (how) => (how ? "--set-json=" : "--set=")));

for (const [sets, message] of contradictions)
  test(`refuses contradictory values with one line: ${sets}`, async () => {
    const failed = await charted(...flagsOf(sets)).then(
      () => "",
      (error: Error) => error.message,
    );
    assert.match(failed, message);
    const said = /execution error at \(.*?\): (.*)/s.exec(failed)?.[1] ?? "";
    assert.equal(
      said
        .trim()
        .split("\n")
        .filter((line) => !/^(Use --debug|$)/.test(line)).length,
      1,
    );
  });

test("accepts values without contradictions", async () => {
  for (const sets of [
    "policy.rollout.maxUnavailable=25% flags.maxUnavailableLimit=25%",
    "policy.rollout.maxUnavailable=100%",
    "policy.delivery.mode=CredentialProvider flags.deliveryModes[0]=Restart\\,CredentialProvider",
    "flags.deliveryModes={Runtime} flags.containerdDirectory=/etc/containerd",
  ])
    assert.ok((await charted(...flagsOf(sets))).length > 0);
});

for (const [what, set, message] of [
  ["outside kube-system", "--namespace=other", /is other, but role Cluster works in kube-system/],
  ["without an image", "--set=image.repository=", /image\.repository is not set, .*--set image/],
] as const)
  test(`fails with one sentence ${what}`, async () => {
    await assert.rejects(charted(set), message);
  });

/** Value that only some roles use → another setting than the default. */
const others: Readonly<Record<string, string>> = {
  "crds.install": "false",
  "policy.conflictPolicy": "PreferOriginal",
  original: "kube-system/pull-secret",
  extraSources: "{team-a}",
  "flags.logLevel": "debug",
  "bounds.enabled": "false",
  "networkPolicy.enabled": "true",
  "networkPolicy.apiServerPorts": "{8443}",
  "admission.enabled": "true",
  "annotated.enabled": "true",
  "hosted.original": "other",
  "hosted.kubeconfig.secret": "guest-kubeconfig",
  "hosted.kubeconfig.key": "value",
  "fleet.sources": "{team-a}",
  "fleet.clusterResourceSet": "true",
  "syncTenant.managementNamespace": "tenant-b",
  "uninstall.withdraw": "false",
  "uninstall.timeout": "5m",
};

/** Value → the flag without which the value has no effect. */
const prerequisites: Readonly<Record<string, string>> = {
  "networkPolicy.apiServerPorts": "--set=networkPolicy.enabled=true",
};

/** Paths of the leaf values; with `maps`, also the paths of maps. */
function pathsOf(values: object, maps: boolean, above = ""): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const path = `${above}${name}`;
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    const below = isMap ? pathsOf(value as object, maps, `${path}.`) : [];
    return below.length === 0 || maps ? [path].concat(below) : below;
  });
}

const defaults = load(textOf("chart/values.yaml")) as object;

test("the table of values by role has every value that only some roles use", () => {
  const expected = pathsOf(defaults, false).filter((path) =>
    Object.hasOwn(usedBy, path.split(".")[0] ?? ""),
  );
  assert.deepEqual(
    Object.keys(others).map((path) => path.replace(/^(flags|policy)\..*/, "$1")),
    expected,
  );
});

for (const role of roles)
  test(`role ${role}: uses each value of the role, and refuses values of other roles with a sentence`, async () => {
    const usual = await charted(...inRole(role));
    for (const [path, value] of Object.entries(others)) {
      const set = `--set=${path}=${value}`;
      const its = usedBy[path.split(".")[0] ?? ""];
      if (its?.includes(role)) {
        const needed = prerequisites[path];
        const before = needed === undefined ? usual : await charted(...inRole(role), needed);
        const also = needed === undefined ? [] : [needed];
        assert.notDeepEqual(await charted(...inRole(role), ...also, set), before, path);
      } else {
        const message = `${path} is set, but role ${role} does not use it: it is a value of roles? `;
        await assert.rejects(
          charted(...inRole(role), set),
          new RegExp(`${message}${its?.[0]}`),
          path,
        );
      }
    }
  });

test("refuses values of another role with a separate sentence for each value", async () => {
  const sets = ["--set=admission.enabled=true", "--set=flags.logLevel=debug"];
  const message =
    /admission\.enabled is set, .*\n.*flags\.logLevel is set, .* Cluster and Hosted\./;
  await assert.rejects(charted(...inRole("Fleet"), ...sets), message);
});

for (const role of roles)
  test(`role ${role}: treats a null value as absent or refuses it clearly, without an error in a template`, async () => {
    for (const path of ["flags.logLevel", ...pathsOf(defaults, true)]) {
      // helm refuses a value below a map that is null.
      const image = path === "image" ? [] : ["--set=image.repository=a.example/b"];
      const others = inRole(role).filter((flag) => !flag.startsWith(`--set=${path}.`));
      const args = [...others, ...image, `--set-json=${path}=null`];
      const failed = await helm(tmpdir(), "template", "gps", chart, ...args).then(
        () => "",
        (error: Error) => error.message,
      );
      assert.doesNotMatch(failed, /nil|executing|error calling/, path);
    }
  });

test("refuses a null list of sources, because a rule without resourceNames grants every Secret", async () => {
  const args = [...inRole("Fleet"), "--set-json=fleet.sources=null"];
  await assert.rejects(charted(...args), /sources/);
});

test("applies controller.tolerations and controller.priorityClassName to every role, and accepts empty values", async () => {
  for (const role of roles) {
    const sets = [
      "--set=controller.tolerations[0].key=own",
      "--set=controller.priorityClassName=high",
    ];
    for (const pod of (await podsOf(...inRole(role), ...sets)).values())
      assert.deepEqual([pod.tolerations, pod.priorityClassName], [[{ key: "own" }], "high"]);
    const empty = ["--set-json=controller.tolerations=[]", "--set=controller.priorityClassName="];
    for (const pod of (await podsOf(...inRole(role), ...empty)).values())
      assert.deepEqual([pod.tolerations, pod.priorityClassName], [undefined, undefined]);
  }
});

test("refuses role Fleet in a namespace other than kube-system", async () => {
  const args = ["--set=role=Fleet", "--namespace=other"];
  await assert.rejects(charted(...args), /role Fleet works in kube-system only/);
});

test("renders the same objects as a dependency of another chart that has templates", async (t) => {
  const parent = copyOf(chart, t, "charts/global-pull-secret");
  const { version } = load(textOf("chart/Chart.yaml")) as { version: string };
  const condition = "global-pull-secret.enabled";
  const dependencies = [{ name: "global-pull-secret", version, condition }];
  const about = { apiVersion: "v2", name: "platform", version: "1.0.0", dependencies };
  writeFileSync(join(parent, "Chart.yaml"), JSON.stringify(about)); // JSON is YAML
  mkdirSync(join(parent, "templates"));
  const theirs = ["name", "namespace", "image", "args", "pod", "container"];
  const text = theirs.map((name) => `{{- define "${name}" -}}theirs{{- end }}\n`).join("");
  writeFileSync(join(parent, "templates/_helpers.tpl"), text);
  const rendered = async (enabled: boolean) => {
    const sets = [`enabled=${enabled}`, "image.repository=global-pull-secret"];
    const values = ["--set=global.team=a", ...sets.map((set) => `--set=global-pull-secret.${set}`)];
    return objectsOf(
      await helm(tmpdir(), "template", "gps", parent, "-n", "kube-system", ...values),
    );
  };
  assert.deepEqual(byName(await rendered(true)), byName(await charted()));
  assert.deepEqual(await rendered(false), []);
});

test("prints notes with a wait command that returns only after the controller has read the Secret", async (t) => {
  const folder = copyOf(chart, t);
  // Renders the notes as a template, because helm prints notes only if it reaches a cluster.
  copyFileSync(join(chart, "templates/NOTES.txt"), join(folder, "notes.txt"));
  const shown = 'kind: Shown\nmetadata: {}\ntext: {{ tpl (.Files.Get "notes.txt") . | quote }}\n';
  writeFileSync(join(folder, "templates/shown.yaml"), shown);
  const notes = async (role: Role) => {
    const sets = [...inRole(role), "--set=image.repository=a.example/b"];
    const rendered = await helm(tmpdir(), "template", "gps", folder, ...sets);
    return String(objectsOf(rendered).find(({ kind }) => kind === "Shown")?.["text"]);
  };
  assert.match(await notes("Cluster"), /kubectl pull-secret wait\n/);
  assert.match(await notes("Cluster"), /servedResourceVersion\}'="\$\(kubectl get secret .*\)"\n/);
  assert.match(await notes("Hosted"), /^The guest needs the CRD/);
  for (const role of roles) assert.doesNotMatch(await notes(role), /docs\/|manifests\//, role);
  assert.match(await notes("Fleet"), /^Create the source, .* generic source-pull-secret /s);
});

function copyOf(folder: string, t: TestContext, below = "."): string {
  const copy = temporary(t);
  cpSync(folder, join(copy, below), { recursive: true });
  return copy;
}

type Schema = Readonly<{
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
}>;

test("refuses an empty list of sources, because a rule without resourceNames grants every Secret", async () => {
  await assert.rejects(charted("--set=role=Fleet", "--set-json=fleet.sources=[]"), /sources/);
});

test("has every value of values.yaml in the schema, each with a description", () => {
  const schema = JSON.parse(readFileSync(join(chart, "values.schema.json"), "utf8")) as Schema;
  const walk = (at: Schema, values: unknown, path: string): void => {
    assert.ok(at.description, `${path}: has no description`);
    const actual = values === undefined ? {} : (values as Record<string, unknown>);
    for (const [name, property] of Object.entries(at.properties ?? {}))
      walk(property, actual[name], `${path}.${name}`);
    if (at.properties === undefined) return;
    const propertyNames = Object.keys(at.properties);
    for (const name of Object.keys(actual))
      assert.ok(propertyNames.includes(name), `${path}.${name}`);
  };
  walk(schema, load(textOf("chart/values.yaml")), "values");
});

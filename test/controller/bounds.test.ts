/**
 * What the policies of manifests/ make of requests with the controller's own token, on a real API
 * server: the controller's own are admitted, and others are denied (SECURITY.md).
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type {
  V1Container,
  V1DaemonSet,
  V1ObjectMeta,
  V1Pod,
  V1PodSpec,
} from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Agent } from "#controller/objects/daemonset/agent.ts";
import { globalSecret } from "#controller/objects/global-secret.ts";
import { readState, stateSecret } from "#controller/objects/state.ts";
import { role, roleBinding, serviceAccount } from "#controller/objects/rbac.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import type { Cluster as Api } from "#kube/client/cluster.ts";
import { annotate, removeVersion } from "#kube/client/conditional.ts";
import { collections, owned } from "#kube/client/paths.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { KubeObject } from "#tools/install/yaml.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { charted, kustomized } from "../install/kustomize.ts";
import { boundsOf } from "../install/overlay.ts";
import {
  admitted,
  changed,
  containerOf,
  declared,
  denied,
  repository,
  tag,
} from "./bound-agents.ts";
import { writeKubeconfig } from "./plane/start.ts";

const controller = "global-pull-secret-controller";
const images = [{ name: "global-pull-secret", newName: repository, newTag: tag }];

/** How administrators install it, with the image of a registry of their own. */
const installations: Readonly<Record<string, () => Promise<KubeObject[]>>> = {
  "kubectl apply -k manifests": () => kustomized({ resources: ["."], images }),
  "the chart": async () =>
    (await charted(`--set=image.repository=${repository}`, `--set-string=image.tag=${tag}`)).filter(
      ({ metadata }) => !("helm.sh/hook" in (metadata.annotations ?? {})),
    ),
  "kubectl apply -k manifests/guest": () => kustomized({ resources: ["guest"], images }),
};

let cluster: Cluster;
let admin: Api;
/** With the token of the controller's account. */
let own: Api;

before(async () => {
  cluster = await startCluster({ nodes: 0, apiOnly: true });
  admin = connect(loadKubeConfig(cluster.kubeconfig), () => {});
  // A RoleBinding needs its Role.
  await cluster.apply(serviceAccount, role);
});
after(() => cluster?.down());

/** What the API server answers: empty where it does as it is told. */
async function refusal(asked: Promise<unknown>): Promise<string> {
  return await asked.then(
    () => "",
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 403) return error.message;
      throw error;
    },
  );
}

const apply = (path: string, body: object, dryRun = true): Promise<unknown> =>
  own.apply(path, body, { manager: controller, force: true, dryRun });
const applied = (body: object) => refusal(apply(owned.daemonSet, body));

const controlled = { apiVersion: "apps/v1", kind: "DaemonSet", controller: true, uid: "1" };
const owner = { ...controlled, name: names.agentName };
const labels = { ...names.agentLabels };

/** A pod of kube-system. */
async function podOf(metadata: V1ObjectMeta, ...more: V1Container[]): Promise<V1Pod> {
  const containers = [{ name: "main", image: "a.example/b:1" }, ...more];
  const pod = { generateName: "pod-", namespace: names.namespace, ...metadata };
  return await admin.create<V1Pod>(collections.pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: pod,
    spec: { serviceAccountName: names.agentName, containers },
  });
}

const pathOf = ({ metadata }: V1Pod) => `${collections.pods}/${metadata?.name}`;
const versionOf = ({ metadata }: V1Pod) => ({
  uid: metadata?.uid ?? "",
  resourceVersion: metadata?.resourceVersion ?? "",
});
const patched = (pod: V1Pod, { metadata = {}, ...body }: Partial<V1Pod>) =>
  refusal(own.patch(pathOf(pod), { metadata: { ...metadata, ...versionOf(pod) }, ...body }));

const strangers: Readonly<Record<string, V1ObjectMeta>> = {
  "a pod without an owner": {},
  "a pod with the agents' label alone": { labels },
  "a pod of the DaemonSet without the label": { ownerReferences: [owner] },
  "a pod of another DaemonSet": { labels, ownerReferences: [{ ...owner, name: "kube-proxy" }] },
  "a pod of another kind": { labels, ownerReferences: [{ ...owner, kind: "ReplicaSet" }] },
  "a pod that the DaemonSet does not control": {
    labels,
    ownerReferences: [{ ...owner, controller: false }],
  },
};

const anotherImage = [{ name: "main", image: "evil.example/x:1" }] as V1Container[];
const changesOfPod: Readonly<Record<string, Partial<V1Pod>>> = {
  "its image": { spec: { containers: anotherImage } },
  "its deadline": { spec: { activeDeadlineSeconds: 1 } as V1PodSpec },
  "its owners": { metadata: { ownerReferences: [] } },
  "one owner more": {
    metadata: { ownerReferences: [owner, { ...owner, name: "b", uid: "2", controller: false }] },
  },
  "its finalizers": { metadata: { finalizers: ["a.example/held"] } },
  "its label name": { metadata: { labels: { name: "kube-dns" } } },
};

const grants = { apiGroups: [""], resources: ["pods"], verbs: ["patch"] };
/** A Secret that Kubernetes fills with the token of another account. */
const token = (name: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: {
    name,
    namespace: names.namespace,
    annotations: { "kubernetes.io/service-account.name": names.agentName },
  },
  type: "kubernetes.io/service-account-token",
});
const newest = {
  document: '{"auths":{}}',
  sources: "{}",
  intent: "apply" as const,
  revision: 1,
  salt: Buffer.alloc(32),
};
const global = globalSecret({ newest, mode: "Restart", served: "nothing", publishedAt: 1 });

/** By these the account could get rights that no policy bounds. */
const others: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "a token of another account in global-pull-secret": [owned.global, token(names.globalSecretName)],
  "a token of another account in global-pull-secret-state": [
    owned.state,
    token(names.stateSecretName),
  ],
  "a right of its own for the agents": [owned.role, { ...role, rules: [grants] }],
  "the agents' Role for somebody else": [
    owned.roleBinding,
    { ...roleBinding, subjects: [{ kind: "User", name: "mallory" }] },
  ],
};
const itsOwn: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "global-pull-secret": [owned.global, global],
  "global-pull-secret-state": [owned.state, stateSecret(readState(undefined))],
  "the agents' account": [owned.serviceAccount, serviceAccount],
  "the agents' Role": [owned.role, role],
  "the agents' RoleBinding": [owned.roleBinding, roleBinding],
};

const its = ["-n", names.namespace] as const;
const live = async (): Promise<V1DaemonSet> =>
  (await admin.get<V1DaemonSet>(owned.daemonSet)) ?? declared();

/** Somebody's policy that adds a label and an annotation to pods at each update. */
async function stamp(): Promise<void> {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const metadata = { name: "stamp" };
  const added = 'labels: {"stamp": "s"}, annotations: {"stamp": "s"}';
  const expression = `Object{metadata: Object.metadata{${added}}}`;
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["pods"] },
  ];
  const spec = {
    failurePolicy: "Fail",
    reinvocationPolicy: "Never",
    matchConstraints: { resourceRules },
    mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
  };
  await cluster.apply(
    { apiVersion, kind: "MutatingAdmissionPolicy", metadata, spec },
    {
      apiVersion,
      kind: "MutatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: "stamp" },
    },
  );
}

/** A policy that refuses every ConfigMap of `default`, with the word of this parameter. */
function worded(kind: string, apiVersion: string): readonly object[] {
  const metadata = { name: "worded" };
  const of = (kind: string, spec: object) => ({
    apiVersion: "admissionregistration.k8s.io/v1",
    kind,
    metadata,
    spec,
  });
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
  ];
  const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": "default" } };
  const messageExpression = "'word ' + params.metadata.annotations['word']";
  const paramRef = { name: "worded", namespace: "default", parameterNotFoundAction: "Deny" };
  return [
    of("ValidatingAdmissionPolicy", {
      paramKind: { apiVersion, kind },
      matchConstraints: { resourceRules, namespaceSelector },
      validations: [{ expression: "false", messageExpression, reason: "Forbidden" }],
    }),
    of("ValidatingAdmissionPolicyBinding", {
      policyName: "worded",
      paramRef,
      validationActions: ["Deny"],
    }),
  ];
}

/** What such a policy compares with when it was deleted and, after a change, created again. */
async function wordAfterwards(apiVersion: string, kind: string, spec?: object): Promise<string> {
  const policy = worded(kind, apiVersion);
  const parameter = (word: string) => {
    const metadata = { name: "worded", namespace: "default", annotations: { word } };
    return { apiVersion, kind, metadata, ...(spec && { spec }) };
  };
  const path = "/api/v1/namespaces/default/configmaps/any";
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "any" } };
  const asked = () =>
    refusal(admin.apply(path, body, { manager: "somebody", force: true, dryRun: true }));
  const word = () =>
    until("it refuses", async () => /word (?<word>\w+)/.exec(await asked())?.groups?.["word"]);
  const kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies";
  const forget = async () => {
    await cluster.kubectl("delete", kinds, "worded");
    await until("it is forgotten", async () => (await asked()) === "");
  };
  await cluster.apply(parameter("before"), ...policy);
  assert.equal(await word(), "before");
  await forget();
  await cluster.apply(parameter("now"), ...policy);
  const found = await word();
  await forget();
  return found;
}

async function install(objects: readonly KubeObject[]): Promise<void> {
  await cluster.kubectl("delete", "validatingadmissionpolicies", "--all");
  await cluster.kubectl("delete", "deployments,daemonsets", "--all", "-n", names.namespace);
  await cluster.apply(...objects);
  const asked = ["create", "token", controller, "-n", names.namespace, "--duration=1h"];
  const token = (await cluster.kubectl(...asked)).trim();
  const kubeconfig = writeKubeconfig(cluster, "controller", cluster.server, token);
  own = connect(loadKubeConfig(kubeconfig), () => {});
  const stranger = pathOf(await podOf({}));
  const evil = changed((spec) => (spec.hostPID = true));
  await until("the policies are in force", async () => {
    const pod = await admin.get<V1Pod>(stranger);
    assert.ok(pod);
    const all = [
      patched(pod, { metadata: { annotations: { a: "b" } } }),
      applied(evil),
      refusal(apply(owned.role, { ...role, rules: [grants] })),
    ];
    return (await Promise.all(all)).every((one) => one !== "");
  });
}

for (const [installation, objects] of Object.entries(installations))
  describe(installation, () => {
    before(async () => await install(await objects()));

    test("grants an agent's pod, and replaces it", async () => {
      const pod = await podOf({ labels, ownerReferences: [owner] });
      const granted = { [names.revisionAnnotation]: "1", [names.wordAnnotation]: null };
      const first = await annotate<V1Pod>(own, pathOf(pod), versionOf(pod), granted);
      assert.ok(first.is === "done", JSON.stringify(first));
      assert.equal((await removeVersion(own, pathOf(pod), versionOf(first.object))).is, "done");
    });

    for (const [what, metadata] of Object.entries(strangers))
      test(`neither changes nor deletes ${what}`, async () => {
        const pod = await podOf(metadata);
        assert.match(await patched(pod, { metadata: { annotations: { a: "b" } } }), /not one of/);
        const { uid } = versionOf(pod);
        assert.match(await refusal(own.remove(pathOf(pod), uid)), /the pod is not one of/);
      });

    for (const [what, change] of Object.entries(changesOfPod))
      test(`does not change an agent's pod: ${what}`, async () => {
        const pod = await podOf({ labels, ownerReferences: [owner] });
        assert.match(await patched(pod, change), /may (?:not )?change/);
        assert.deepEqual(await admin.get(pathOf(pod)), pod);
      });

    for (const state of ["create", "update"] as const)
      describe(`${state} the DaemonSet`, () => {
        before(async () => {
          if (state === "update") await apply(owned.daemonSet, declared(), false);
        });
        for (const [what, template] of Object.entries(admitted))
          test(`admitted: ${what}`, async () => {
            assert.equal(await applied(template()), "");
          });
        for (const [what, change] of Object.entries(denied))
          test(`denied: ${what}`, async () => {
            assert.match(await applied(changed(change)), /denied request: /);
          });
      });

    for (const [what, [path, body]] of Object.entries(others))
      test(`denied: ${what}`, async () => {
        assert.match(await refusal(apply(path, body)), /403 Forbidden/);
      });
    for (const [what, [path, body]] of Object.entries(itsOwn))
      test(`admitted: ${what}`, async () => {
        assert.equal(await refusal(apply(path, body)), "");
      });
  });

describe("beside others", () => {
  before(async () => {
    await install(await kustomized({ resources: ["."], images }));
    await apply(owned.daemonSet, declared(), false);
  });

  test("no other account is bounded", async () => {
    const pod = await podOf({});
    const image = anotherImage[0]?.image;
    await cluster.kubectl("set", "image", `pod/${pod.metadata?.name}`, `main=${image}`, ...its);
    await cluster.kubectl("delete", "pod", pod.metadata?.name ?? "", ...its, "--now");
    const how = { manager: "somebody", force: true, dryRun: true };
    await admin.apply(
      owned.daemonSet,
      changed((spec) => (spec.hostPID = true)),
      how,
    );
  });

  /** The DaemonSet as the account declares it, and nobody else. */
  async function again(): Promise<void> {
    await admin.remove(owned.daemonSet, (await live()).metadata?.uid ?? "");
    await until("it is gone", async () => (await admin.get(owned.daemonSet)) === undefined);
    await apply(owned.daemonSet, declared(), false);
  }

  test("another selector is denied", async () => {
    await admin.remove(owned.daemonSet, (await live()).metadata?.uid ?? "");
    await until("it is gone", async () => (await admin.get(owned.daemonSet)) === undefined);
    const other = { name: "kube-dns" };
    const { spec, ...rest } = declared();
    const template = { ...spec?.template, metadata: { labels: other } };
    const selecting = { ...rest, spec: { ...spec, selector: { matchLabels: other }, template } };
    assert.match(await applied(selecting), /spec\.selector/);
    await apply(owned.daemonSet, declared(), false);
  });

  test("what somebody else has added stays, and keeps no other change from the agents", async () => {
    const added = structuredClone(await live());
    const spec = added.spec?.template.spec;
    assert.ok(spec);
    spec.volumes?.push({ name: "etc", hostPath: { path: "/etc", type: "" } });
    containerOf(spec).env?.push({ name: "NODE_OPTIONS", value: "--trace-warnings" });
    containerOf(spec).volumeMounts?.push({ name: "etc", mountPath: "/etc/site" });
    spec.containers.push({ name: "side", image: "side.example/car:1" });
    spec.hostPID = true;
    await admin.replace(owned.daemonSet, added);
    assert.equal(await applied(declared({ probationSeconds: 30 })), "");
    const more = changed((one) => {
      one.volumes?.push({ name: "var", hostPath: { path: "/var" } });
    });
    assert.match(await applied(more), /volumes/);
    await again();
  });

  const overlay = { resources: ["."], images };
  /** Applies the policies of these objects, and the account, whose annotations they compare. */
  async function change(objects: readonly KubeObject[]): Promise<void> {
    await cluster.apply(...objects.filter(({ kind }) => /^Validating|^ServiceA/.test(kind)));
  }
  const untilAdmitted = (more: Partial<Agent>) =>
    until("it is admitted", async () => (await applied(declared(more))) === "");
  const untilDenied = (more: Partial<Agent>, told = /denied request: /) =>
    until("it is denied", async () => told.test(await applied(declared(more))));

  test("directories, unit and image are those that an installer sets", async () => {
    const set = {
      kubeletDirectory: "/data/kubelet",
      dbusDirectory: "/data/dbus",
      kubeletUnit: "k3s-\\x2d.service",
    };
    assert.match(await applied(declared(set)), /denied request: /);
    const flags = [
      `--kubelet-directory=${set.kubeletDirectory}`,
      `--dbus-directory=${set.dbusDirectory}`,
      `--kubelet-unit=${set.kubeletUnit}`,
    ];
    await change(await kustomized({ ...overlay, patches: boundsOf(flags) }));
    await untilAdmitted(set);
    const values = { ...set, agentImage: "agents.example/gps:1" };
    await change(await charted(`--set-json=flags=${JSON.stringify(values)}`));
    await untilAdmitted({ ...set, image: values.agentImage });
    await change(await kustomized(overlay));
    await untilDenied({ ...set, image: values.agentImage });
  });

  test("an image that is named by its digest is that one alone", async () => {
    const [digest, another] = ["a", "b"].map((one) => `sha256:${one.repeat(64)}`);
    await untilAdmitted({ image: `${repository}@${another}` });
    const set = [`--set=image.repository=${repository}`, `--set=image.digest=${digest}`];
    await change(await charted(...set));
    await untilDenied({ image: `${repository}@${another}` });
    assert.equal(await applied(declared({ image: `${repository}@${digest}` })), "");
    await change(await kustomized(overlay));
    await untilAdmitted({ image: `${repository}@${another}` });
  });

  test("an image that the account's annotation does not name is denied, and the answer says where it is", async () => {
    const named = [{ name: "global-pull-secret", newName: "other.example/gps", newTag: "8" }];
    await change(await kustomized({ ...overlay, images: named }));
    const told =
      /not other\.example\/gps:8, which the annotation globalpullsecret\.io\/agent-image/;
    await untilDenied({ probationSeconds: 31 }, told);
    const mirrored = "informer.example/gps:8";
    await change(
      await kustomized({ ...overlay, patches: boundsOf([`--agent-image=${mirrored}`]) }),
    );
    await untilAdmitted({ image: mirrored });
    await change(await kustomized(overlay));
    await untilAdmitted({ probationSeconds: 31 });
  });

  test("policies that are created again compare with the ServiceAccount of now; with a Deployment they would not", async () => {
    assert.equal(await wordAfterwards("v1", "ServiceAccount"), "now");
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "main", image: "a.example/b:1" }] },
    };
    const spec = { replicas: 0, selector: { matchLabels: labels }, template };
    assert.equal(await wordAfterwards("apps/v1", "Deployment", spec), "before");
  });

  test("a policy that stamps pods on every update, and one that has added a container, do not keep a grant from them", async () => {
    await stamp();
    const side = { name: "side", image: "side.example/car:1" };
    const pod = await podOf({ labels, ownerReferences: [owner] }, side);
    const granted = { [names.revisionAnnotation]: "1" };
    const metadata = await until("it stamps", async () => {
      const version = versionOf((await admin.get<V1Pod>(pathOf(pod))) ?? pod);
      const outcome = await annotate<V1Pod>(own, pathOf(pod), version, granted);
      assert.ok(outcome.is === "done", JSON.stringify(outcome));
      const { metadata } = outcome.object;
      return metadata?.annotations?.["stamp"] !== undefined && metadata;
    });
    assert.equal(metadata.labels?.["stamp"], "s");
    assert.equal(metadata.annotations?.[names.revisionAnnotation], "1");
  });
});

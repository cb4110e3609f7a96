/**
 * The policies of manifests/ on a real API server. If a client uses the controller's token, the
 * policies admit only the requests that the controller makes, and deny all others (SECURITY.md).
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { HttpMethod, type KubernetesObject, type V1DaemonSet } from "@kubernetes/client-node";
import * as names from "#contract/names.ts";
import type { Agent } from "#controller/objects/agent.ts";
import { role, serviceAccount } from "#controller/objects/daemonset.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { callsOver, connect } from "#kube/client/client.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { open, type Connection } from "#kube/client/connection.ts";
import { owned } from "#kube/client/paths.ts";
import { loadKubeConfig } from "#kube/load.ts";
import { samples } from "#tools/install/flag-samples.fixture.ts";
import type { KubeObject } from "#tools/install/yaml.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { byName, charted, kustomized } from "../install/kustomize.ts";
import { boundsOf } from "../install/overlay.ts";
import {
  admitted,
  boundArguments,
  changed,
  containerOf,
  declared,
  denied,
  flagged,
  lacking,
  repository,
  tag,
  unnamed,
} from "./bound-agents.ts";
import {
  another,
  controller,
  grants,
  itsOwn,
  ofNode,
  passing,
  states,
  type State,
} from "./bound-requests.ts";
import { writeKubeconfig } from "./plane/start.ts";
import { denyingConfigMaps, sharingCosts, stamping } from "./policies.ts";

const images = [{ name: "global-pull-secret", newName: repository, newTag: tag }];

const overlay = { resources: ["."], images };
/** Other ways to install the objects that limit the account. */
const others: Readonly<Record<string, (args: readonly string[]) => Promise<KubeObject[]>>> = {
  "the chart": async (args) => {
    const image = [`--set=image.repository=${repository}`, `--set-string=image.tag=${tag}`];
    return await charted(...image, ...(args.length > 0 ? [asValues] : []));
  },
  "manifests/guest": (args) =>
    kustomized({ resources: ["guest"], images, patches: boundsOf(args) }),
};
const asValues = `--set-json=flags=${JSON.stringify(samples)}`;
const account = ({ kind, metadata }: KubeObject) =>
  kind === "ServiceAccount" && metadata.name === controller;
/**
 * The objects that limit the account, without their labels, because Helm's labels name the chart.
 */
const bounding = (objects: readonly KubeObject[]) => ({
  policies: objects
    .filter(({ kind }) => kind.startsWith("ValidatingAdmission"))
    .map((policy) => Object.assign({}, policy, { metadata: { name: policy.metadata.name } })),
  annotations: objects.find(account)?.metadata.annotations,
});

for (const [how, objects] of Object.entries(others))
  for (const args of [[], boundArguments])
    test(`limits the account in ${how} as in manifests/, with ${args.length} flags`, async () => {
      const usual = bounding(await kustomized({ ...overlay, patches: boundsOf(args) }));
      assert.equal(usual.policies.length, 6);
      assert.deepEqual(byName(bounding(await objects(args)).policies), byName(usual.policies));
      assert.deepEqual(bounding(await objects(args)).annotations, usual.annotations);
    });

let cluster: Cluster;
let admin: Api;
/** A connection with the token of the controller's account. */
let connection: Connection;
let own: Api;
/** The file of that connection. */
let kubeconfig: string;

before(async () => {
  cluster = await startCluster({ nodes: 0, apiOnly: true });
  admin = connect(loadKubeConfig(cluster.kubeconfig), () => {});
  // A RoleBinding needs its Role.
  await cluster.apply(serviceAccount, role);
});
after(() => cluster?.down());

/** The API server's denial; empty if it accepts the request. */
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
const deleted = (how: object): Promise<string> => {
  const query = { dryRun: "All" };
  return refusal(
    connection.ask({ method: HttpMethod.DELETE, path: owned.daemonSet, query, body: how }),
  );
};

const versionOf = ({ metadata }: KubernetesObject) => ({
  uid: metadata?.uid ?? "",
  resourceVersion: metadata?.resourceVersion ?? "",
});

/** Prepares a write of this kind for an object of the account. */
async function prepare(state: State, path: string, body = {}): Promise<void> {
  if (state === "update") return void (await apply(path, body, false));
  const { metadata } = (await admin.get<V1DaemonSet>(path)) ?? {};
  if (metadata?.uid === undefined) return;
  await admin.remove(path, metadata.uid);
  await until("the object is gone", async () => (await admin.get(path)) === undefined);
}

const label = { "k8s-app": "kube-dns" };
/** Type of a patch → the patch, which sets a label. The object has labels. */
const labelling = {
  json: [{ op: "add", path: "/metadata/labels/k8s-app", value: "kube-dns" }],
  merge: { metadata: { labels: label } },
  strategic: { metadata: { labels: label } },
  "merge and empties the record": { metadata: { labels: label, managedFields: [{}] } },
};

/** The controller's own object of this path. */
const bodyOf = (path: string): object =>
  Object.values(itsOwn).find(([ownPath]) => ownPath === path)?.[1] ?? {};

const its = ["-n", names.namespace] as const;
const live = async (): Promise<V1DaemonSet> =>
  (await admin.get<V1DaemonSet>(owned.daemonSet)) ?? declared();

async function install(objects: readonly KubeObject[]): Promise<void> {
  await cluster.kubectl("delete", "validatingadmissionpolicies", "--all");
  await cluster.kubectl("delete", "deployments,daemonsets", "--all", "-n", names.namespace);
  await cluster.apply(...objects);
  const asked = ["create", "token", controller, "-n", names.namespace, "--duration=1h"];
  const token = (await cluster.kubectl(...asked)).trim();
  kubeconfig = writeKubeconfig(cluster, "controller", cluster.server, token);
  connection = open(loadKubeConfig(kubeconfig), () => {}, {});
  own = callsOver(connection);
  const evil = changed((spec) => (spec.hostIPC = true));
  await until("the policies are in force", async () => {
    const all = [applied(evil), refusal(apply(owned.role, { ...role, rules: [grants] }))];
    return (await Promise.all(all)).every((message) => message !== "");
  });
}

describe("the account", () => {
  before(async () => await install(await kustomized(overlay)));

  for (const state of states)
    describe(`${state} the DaemonSet`, () => {
      before(async () => await prepare(state, owned.daemonSet, declared()));
      for (const [what, template] of Object.entries(admitted))
        test(`is allowed ${what}`, async () => {
          assert.equal(await applied(template()), "");
        });
      for (const [what, change] of Object.entries(denied))
        test(`is denied ${what}`, async () => {
          assert.match(await applied(changed(change)), /denied request: /);
        });
      for (const [flag, template] of Object.entries(unnamed))
        test(`is denied --${flag} without its annotation`, async () => {
          assert.match(await applied(template), /denied request: /);
        });
    });

  for (const how of [
    { propagationPolicy: "Orphan" },
    { propagationPolicy: "Foreground" },
    { orphanDependents: true },
  ])
    test(`does not delete the DaemonSet with ${JSON.stringify(how)}`, async () => {
      await prepare("update", owned.daemonSet, declared());
      assert.match(await deleted(how), /denied request: /);
    });
  for (const how of [{ propagationPolicy: "Background" }, { orphanDependents: false }, {}])
    test(`deletes the DaemonSet with ${JSON.stringify(how)}`, async () => {
      await prepare("update", owned.daemonSet, declared());
      assert.equal(await deleted(how), "");
    });

  for (const [what, path, body, states] of passing)
    for (const state of states)
      test(`is denied to ${state} ${what}`, async () => {
        await prepare("update", owned.role, role);
        await prepare(state, path, bodyOf(path));
        assert.match(await refusal(apply(path, body)), /denied request: /);
      });
  for (const [how, patch] of Object.entries(labelling))
    test(`sets no label by a patch that is ${how}`, async () => {
      await apply(owned.state, bodyOf(owned.state), false);
      const type = `--type=${how.split(" ")[0]}`;
      const object = ["secret", names.stateSecretName, ...its];
      const asked = ["patch", ...object, type, "-p", JSON.stringify(patch)];
      const sent = cluster.kubectl(`--kubeconfig=${kubeconfig}`, ...asked);
      await assert.rejects(sent, /labels that this account may not change: k8s-app/);
    });
  test("sets no label of the template beside a variable that is given twice, which no record can hold", async () => {
    await prepare("update", owned.daemonSet, declared());
    const [first] = containerOf(declared().spec?.template.spec ?? assert.fail()).env ?? [];
    const patch = [
      { op: "add", path: "/spec/template/spec/containers/0/env/-", value: first },
      { op: "add", path: "/spec/template/metadata/labels/k8s-app", value: "kube-dns" },
    ];
    const object = ["daemonset", names.agentName, ...its, "--type=json"];
    const asked = ["patch", ...object, "-p", JSON.stringify(patch)];
    const sent = cluster.kubectl(`--kubeconfig=${kubeconfig}`, ...asked);
    await assert.rejects(sent, /do not name: k8s-app/);
  });
  test("does not let the API server write kubectl's annotation for it", async () => {
    const [path, body] = [owned.state, bodyOf(owned.state)];
    await apply(path, body, false);
    const annotation = "kubectl.kubernetes.io/last-applied-configuration={}";
    await cluster.kubectl("annotate", "secret", names.stateSecretName, ...its, annotation);
    const version = versionOf((await admin.get<KubernetesObject>(path)) ?? assert.fail());
    await admin.patch(path, { metadata: { ...version, managedFields: [another] } });
    const asKubectl = own.apply(path, body, { manager: "kubectl", force: true, dryRun: true });
    assert.match(await refusal(asKubectl), /annotations that .*: kubectl\S+last-applied/);
    await prepare("create", path);
  });
  for (const [what, [path, body]] of Object.entries(itsOwn))
    test(`is allowed ${what}`, async () => {
      assert.equal(await refusal(apply(path, body)), "");
    });
  test("creates a NodePullSecret that belongs to its Node", async () => {
    const [path] = itsOwn["a NodePullSecret"] ?? assert.fail();
    await prepare("create", path);
    assert.equal(await refusal(apply(path, ofNode)), "");
  });
});

describe("allows each flag of the controller if annotations name the required values", () => {
  before(async () => {
    await install(await kustomized({ ...overlay, patches: boundsOf(boundArguments) }));
  });
  for (const state of states)
    describe(`${state} the DaemonSet`, () => {
      // For an update, an administrator creates a DaemonSet first, which matches none of the flags.
      before(async () => {
        await prepare("create", owned.daemonSet);
        const how = { manager: controller, force: true };
        if (state === "update") await admin.apply(owned.daemonSet, declared(), how);
      });
      for (const [flag, template] of Object.entries(flagged))
        test(`allows --${flag}`, async () => {
          assert.equal(await applied(template), "");
        });
    });
  describe("create the DaemonSet", () => {
    before(async () => await prepare("create", owned.daemonSet));
    for (const [flag, template] of Object.entries(lacking))
      test(`denies the default of --${flag}`, async () => {
        assert.match(await applied(template), /denied request: /);
      });
  });
});

describe("the policies if other clients write too", () => {
  before(async () => {
    await install(await kustomized(overlay));
    await apply(owned.daemonSet, declared(), false);
  });

  test("bounds no other account", async () => {
    const how = { manager: "somebody", force: true, dryRun: true };
    await admin.apply(
      owned.daemonSet,
      changed((spec) => (spec.hostIPC = true)),
      how,
    );
  });

  /** Deletes the DaemonSet, and creates it again as the account declares it. */
  async function again(): Promise<void> {
    await admin.remove(owned.daemonSet, (await live()).metadata?.uid ?? "");
    await until(
      "the DaemonSet is gone",
      async () => (await admin.get(owned.daemonSet)) === undefined,
    );
    await apply(owned.daemonSet, declared(), false);
  }

  test("denies another selector", async () => {
    await admin.remove(owned.daemonSet, (await live()).metadata?.uid ?? "");
    await until(
      "the DaemonSet is gone",
      async () => (await admin.get(owned.daemonSet)) === undefined,
    );
    const other = { name: "kube-dns" };
    const { spec, ...rest } = declared();
    const template = { ...spec?.template, metadata: { labels: other } };
    const selecting = { ...rest, spec: { ...spec, selector: { matchLabels: other }, template } };
    assert.match(await applied(selecting), /spec\.selector/);
    await apply(owned.daemonSet, declared(), false);
  });

  test("keeps additions of others, and still allows the controller's own changes", async () => {
    const added = structuredClone(await live());
    const spec = added.spec?.template.spec;
    assert.ok(spec);
    spec.volumes?.push({ name: "etc", hostPath: { path: "/etc", type: "" } });
    containerOf(spec).env?.push({ name: "NODE_OPTIONS", value: "--trace-warnings" });
    containerOf(spec).volumeMounts?.push({ name: "etc", mountPath: "/etc/site" });
    Object.assign(containerOf(spec).resources?.limits ?? {}, { cpu: "64" });
    const { labels, annotations } = added.spec?.template.metadata ?? {};
    for (const map of [labels, annotations]) Object.assign(map ?? {}, { "a.example/team": "a" });
    spec.containers.push({ name: "side", image: "side.example/car:1" });
    spec.hostIPC = true;
    await admin.replace(owned.daemonSet, added);
    assert.equal(await applied(declared({ probationSeconds: 30 })), "");
    const more = changed((podSpec) => {
      podSpec.volumes?.push({ name: "var", hostPath: { path: "/var" } });
    });
    assert.match(await applied(more), /volumes/);
    await again();
  });

  /**
   * Applies the policies of these objects, and the account with the annotations that the policies
   * compare.
   */
  async function change(objects: readonly KubeObject[]): Promise<void> {
    await cluster.apply(...objects.filter(({ kind }) => /^Validating|^ServiceA/.test(kind)));
  }
  const untilAdmitted = (more: Partial<Agent>) =>
    until("the DaemonSet is admitted", async () => (await applied(declared(more))) === "");
  const untilDenied = (more: Partial<Agent>, message = /denied request: /) =>
    until("the DaemonSet is denied", async () => message.test(await applied(declared(more))));

  test("accepts an AppArmor profile only if the installer names it", async () => {
    const flag = "--apparmor-profile=RuntimeDefault";
    await change(await kustomized({ ...overlay, patches: boundsOf([flag]) }));
    await untilAdmitted({ appArmorProfile: "RuntimeDefault" });
    await change(await kustomized(overlay));
    await untilDenied({ appArmorProfile: "RuntimeDefault" });
  });

  test("accepts an image only with its digest if the installer names the digest", async () => {
    const [digest, another] = ["a", "b"].map((digit) => `sha256:${digit.repeat(64)}`);
    const set = [`--set=image.repository=${repository}`, `--set=image.digest=${digest}`];
    await change(await charted(...set));
    await untilAdmitted({ image: `${repository}@${digest}` });
    assert.match(
      await applied(declared({ image: `${repository}@${another}` })),
      /the image is not/,
    );
    await change(await kustomized(overlay));
    await untilAdmitted({ probationSeconds: 31 });
  });

  test("denies an image that the account's annotation does not name, and names the annotation", async () => {
    const named = [{ name: "global-pull-secret", newName: "other.example/gps", newTag: "8" }];
    await change(await kustomized({ ...overlay, images: named }));
    const message =
      /not other\.example\/gps:8, which the annotation globalpullsecret\.io\/agent-image/;
    await untilDenied({ probationSeconds: 31 }, message);
    const mirrored = "informer.example/gps:8";
    await change(
      await kustomized({ ...overlay, patches: boundsOf([`--agent-image=${mirrored}`]) }),
    );
    await untilAdmitted({ image: mirrored });
    await change(await kustomized(overlay));
    await untilAdmitted({ probationSeconds: 31 });
  });

  test("reports a missing annotation as missing", async () => {
    const { namespace } = names;
    const removed = { annotations: { "globalpullsecret.io/agent-image": null } };
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${controller}`;
    const { metadata } = (await admin.get<KubernetesObject>(path)) ?? {};
    const { uid = "", resourceVersion = "" } = metadata ?? {};
    await admin.patch(path, { metadata: { ...removed, uid, resourceVersion } });
    await untilDenied({ probationSeconds: 31 }, /agent-image of ServiceAccount \S+ is missing/);
    await change(await kustomized(overlay));
    await untilAdmitted({ probationSeconds: 31 });
  });

  test("reads the annotations of the current ServiceAccount after the policies were deleted and created again", async () => {
    const account = (word: string) => {
      const metadata = { name: "worded", namespace: "default", annotations: { word } };
      return { apiVersion: "v1", kind: "ServiceAccount", metadata };
    };
    const path = "/api/v1/namespaces/default/configmaps/any";
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "any" } };
    const how = { manager: "somebody", force: true, dryRun: true };
    const asked = () => refusal(admin.apply(path, body, how));
    const word = () =>
      until(
        "the policy denies",
        async () => /word (?<word>\w+)/.exec(await asked())?.groups?.["word"],
      );
    await cluster.apply(account("before"), ...denyingConfigMaps);
    assert.equal(await word(), "before");
    const kinds = "validatingadmissionpolicybindings,validatingadmissionpolicies";
    await cluster.kubectl("delete", kinds, "worded");
    await until("the policy is gone", async () => (await asked()) === "");
    await cluster.apply(account("now"), ...denyingConfigMaps);
    assert.equal(await word(), "now");
    await cluster.kubectl("delete", kinds, "worded");
  });

  /** A test with a policy that changes objects. Kubernetes serves such policies from 1.36 on. */
  function testMutation(name: string, run: () => Promise<void>): void {
    test(name, async (t) => {
      const policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
      if ((await admin.get(policies)) !== undefined) await run();
      else t.skip("this version has no MutatingAdmissionPolicy");
    });
  }

  testMutation(
    "declares the DaemonSet while a policy shares the costs of all templates",
    async () => {
      await admin.remove(owned.daemonSet, (await live()).metadata?.uid ?? "");
      await cluster.apply(...sharingCosts);
      const { metadata, spec } = await until("the policy adds its label", async () => {
        await apply(owned.daemonSet, declared(), false);
        const { template } = (await live()).spec ?? assert.fail();
        return template.metadata?.labels?.["cost-center"] === "7" && template;
      });
      assert.equal(metadata?.annotations?.["cost.example/team"], "platform");
      const variables = spec && containerOf(spec).env?.map(({ name }) => name);
      assert.ok(variables?.includes("HTTPS_PROXY"));
      // An upgrade, in which the policy adds the same again.
      assert.equal(await applied(declared({ probationSeconds: 30 })), "");
      const own = changed((_, { labels }) =>
        Object.assign(labels ?? {}, { "k8s-app": "kube-dns" }),
      );
      assert.match(await applied(own), /do not name: k8s-app/);
      await cluster.kubectl("delete", "mutatingadmissionpolicies", "costs");
      await again();
    },
  );

  testMutation("writes its Secret while one policy labels Secrets", async () => {
    const [path, body] = itsOwn["global-pull-secret-state"] ?? assert.fail();
    await prepare("create", path);
    await cluster.apply(...stamping("Secret", names.stateSecretName));
    const stamped = await until("the policy stamps", async () => {
      const secret = (await own.apply(path, body, {
        manager: controller,
        force: true,
      })) as KubernetesObject;
      return secret.metadata?.labels?.["stamp"] === "s" && secret;
    });
    assert.equal(stamped.metadata?.annotations?.["stamp"], "s");
    assert.equal(await refusal(apply(path, body)), "");
    // The policy has set this label, but the account itself may still not set it.
    await cluster.kubectl("delete", "mutatingadmissionpolicies", "stamp");
    const metadata = { ...body.metadata, labels: { stamp: "t" } };
    await until(
      "the key is denied",
      async () => (await refusal(apply(path, { ...body, metadata }))) !== "",
    );
    assert.equal(await refusal(apply(path, body)), "");
  });

  testMutation(
    "names the label of a client that admission changes, and writes again once the label was removed",
    async () => {
      const [path, body] = itsOwn["global-pull-secret-state"] ?? assert.fail();
      const kubectl = (change: string) =>
        cluster.kubectl("label", "secret", names.stateSecretName, ...its, "--overwrite", change);
      await apply(path, body, false);
      await kubectl("stamp=by-a-client");
      assert.equal(await refusal(apply(path, body)), "", "another client's label is kept");
      await cluster.apply(...stamping("Secret", names.stateSecretName));
      await until("the label is named", async () =>
        /labels that this account may not change: stamp \(/.test(await refusal(apply(path, body))),
      );
      await kubectl("stamp-");
      const { metadata } = (await admin.get<KubernetesObject>(path)) ?? {};
      assert.equal(metadata?.labels?.["stamp"], "s");
      assert.equal(await refusal(apply(path, body)), "");
    },
  );
});

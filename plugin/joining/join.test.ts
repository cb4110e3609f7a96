/** Checks repeated joins. The host and the cluster are fakes, which accept every write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1ObjectMeta, V1Role } from "@kubernetes/client-node";
import { authority } from "#kube/kubeconfig/kubeconfig.fixture.ts";
import type { Cluster, Replacing } from "#kube/client/cluster.ts";
import { tokenFrom } from "#kube/token.fixture.ts";
import { assertAddressed, denial, refusal } from "../fake.fixture.ts";
import { leave } from "./departure.ts";
import { join } from "./join.ts";
import { profileOf } from "../clusters/profile.ts";

const own = "/api/v1/namespaces/kube-system";
const secrets = "/api/v1/namespaces/web/secrets";

/** A cluster that stores objects by path. The token of its account is not valid. */
function memory(id: string) {
  const objects = new Map<string, object>([[own, { metadata: { uid: id } }]]);
  const memory = {
    objects,
    /** Whether the fake refuses writes to a path. */
    forbids: (() => false) as (path: string) => boolean,
    status: 403,
  };
  const cluster = {
    async get(path: string) {
      const [collection = "", query] = path.split("?");
      if (query === undefined) return objects.get(path);
      const resource = collection.split("/").at(-1) ?? "";
      const items = [...objects].filter(
        ([at]) => at.includes(`/namespaces/`) && at.includes(`/${resource}/`),
      );
      return { items: items.map(([, object]) => object) };
    },
    async pages(path: string, _: object, each: (items: readonly object[]) => void) {
      each([...objects].flatMap(([at, object]) => (at.startsWith(`${path}/`) ? [object] : [])));
    },
    async apply(path: string, body: { metadata: object }) {
      assertAddressed(path, body);
      if (memory.forbids(path)) throw refusal(memory.status, "PATCH", path);
      const stored = { ...body, metadata: { ...body.metadata, uid: "u" } };
      if (!path.endsWith("/status")) objects.set(path, stored);
      return stored;
    },
    async create(path: string, body: object) {
      assertAddressed(path, body);
      return { status: { token: issued } };
    },
    async remove(path: string, uid: string) {
      const stored = objects.get(path) as Readonly<{ metadata: V1ObjectMeta }> | undefined;
      assert.equal(uid, stored?.metadata.uid ?? "", path);
      if (memory.forbids(path)) throw refusal(memory.status, "DELETE", path);
      objects.delete(path);
    },
  } as unknown as Replacing;
  return Object.assign(memory, { cluster });
}

const issued = tokenFrom(0, 3_600_000);
const refuses = async (): Promise<never> => await Promise.reject(denial);
const guarded = { get: async () => {}, create: refuses, apply: refuses } as unknown as Cluster;

const place = { server: "https://east.example", "certificate-authority-data": authority };

/**
 * Creates a host and a cluster, and a function that joins the cluster with rights for the given
 * Secrets.
 */
function clusters(east = memory("east"), hostId = "host") {
  const host = memory(hostId);
  host.objects.set("/api/v1/namespaces/global-pull-secret-clusters", {});
  const joinWith = async (...named: readonly string[]) => {
    const targets = named
      .filter((word) => word !== "adopt")
      .map((secret) => {
        const [namespace = "", name = ""] = secret.split("/");
        return { namespace, name };
      });
    const asked = {
      name: "east",
      flags: { context: "east" },
      place,
      targets,
      adopts: named.at(-1) === "adopt",
      as: async () => guarded,
    };
    await join({ host: host.cluster, cluster: east.cluster }, asked);
  };
  /** NAMESPACE/NAME of the Secrets that the account is allowed to write. */
  const granted = () =>
    [...east.objects]
      .filter(([path]) => path.includes("/roles/"))
      .flatMap(([, role]) =>
        ((role as V1Role).rules ?? [])
          .filter(({ resources = [] }) => resources.includes("secrets"))
          .flatMap(({ resourceNames = [] }) => resourceNames)
          .map((name) => `${(role as V1Role).metadata?.namespace}/${name}`),
      );
  return { host, there: east, joinWith, granted };
}

const profileAt = (name: string) =>
  `/apis/multicluster.x-k8s.io/v1alpha1/namespaces/global-pull-secret-clusters/clusterprofiles/${name}`;

test("grants rights for the default Secrets if a first join names none", async () => {
  const { host, joinWith, granted } = clusters();
  host.objects.set(profileAt("far"), profileOf("far", "another", { context: "a" }));
  await joinWith();
  assert.deepEqual(granted(), ["kube-system/pull-secret", "kube-system/fleet-pull-secret"]);
});

test("writes the cluster, its token and its address into the host", async () => {
  const { host, joinWith } = clusters();
  const written: Record<string, unknown>[] = [];
  const apply = host.cluster.apply.bind(host.cluster);
  host.cluster.apply = async <T>(
    path: string,
    body: object,
    options: Parameters<typeof apply>[2],
  ) => {
    written.push({ ...body });
    return await apply<T>(path, body, options);
  };
  await joinWith();
  const name = { name: "east", namespace: "global-pull-secret-clusters" };
  const type = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
  const annotations = {
    "globalpullsecret.io/cluster-id": "east",
    "globalpullsecret.io/context": "east",
  };
  const labels = { "x-k8s.io/cluster-manager": "globalpullsecret.io" };
  const profile = {
    ...type,
    metadata: { ...name, labels, annotations },
    spec: { clusterManager: { name: "globalpullsecret.io" }, displayName: "east" },
  };
  const [begun, token, access, ended] = written;
  assert.deepEqual(begun, profile);
  assert.partialDeepStrictEqual(token, {
    kind: "Secret",
    metadata: {
      name: "east",
      ownerReferences: [{ ...type, name: "east", uid: "u", blockOwnerDeletion: false }],
    },
    data: { token: btoa(issued) },
  });
  const extensions = [
    { name: "client.authentication.k8s.io/exec", extension: { clusterName: "east" } },
  ];
  assert.deepEqual(access, {
    ...type,
    metadata: { ...name, uid: "u" },
    status: { accessProviders: [{ name: "secretreader", cluster: { ...place, extensions } }] },
  });
  const joinedAt = /"globalpullsecret\.io\/joined-at":"([^"]+)"/.exec(JSON.stringify(ended))?.[1];
  assert.ok(Date.parse(joinedAt ?? "") > 0);
  const atEnd = { ...annotations, "globalpullsecret.io/joined-at": joinedAt };
  assert.deepEqual(ended, { ...profile, metadata: { ...name, labels, annotations: atEnd } });
});

test("keeps all rights if a repeated join names no Secret", async () => {
  const { there: east, joinWith, granted } = clusters();
  await joinWith("kube-system/regcred", "web/regcred");
  const annotations = { "globalpullsecret.io/fleet-owner": "host/kube-system/pull-secret" };
  east.objects.set(`${secrets}/regcred`, { metadata: { uid: "u", annotations } });
  await joinWith();
  assert.deepEqual(granted(), ["kube-system/regcred", "web/regcred"]);
  const deleted = await leave(east.cluster, "host/east");
  assert.ok(deleted.includes("secret/regcred"));
  assert.equal(deleted[0], "serviceaccount/global-pull-secret-joined");
  assert.deepEqual([...east.objects.keys()], [own]);
});

for (const [owner, isDeleted] of [
  ["host/kube-system/pull-secret", true],
  ["host2/kube-system/pull-secret", false],
  [undefined, false],
] as const)
  test(`when the cluster leaves, ${isDeleted ? "deletes" : "keeps"} a Secret of the owner ${owner}, at the latest in a second try`, async () => {
    const { there: east, joinWith } = clusters();
    await joinWith("web/regcred");
    const annotations = owner === undefined ? {} : { "globalpullsecret.io/fleet-owner": owner };
    east.objects.set(`${secrets}/regcred`, { metadata: { uid: "u", annotations } });
    east.forbids = (path) => path === `${secrets}/regcred`;
    if (isDeleted)
      await assert.rejects(leave(east.cluster, "host/east"), { message: /403 Refused/ });
    east.forbids = () => false;
    await leave(east.cluster, "host/east");
    assert.deepEqual([...east.objects.keys()], [own, ...(isDeleted ? [] : [`${secrets}/regcred`])]);
  });

test("a repeated join removes fields that others added to a policy or its binding", async () => {
  const { there: east, joinWith } = clusters();
  await joinWith();
  const policies = [...east.objects.keys()].filter((path) => path.includes("/validatingadmission"));
  const apply = east.cluster.apply.bind(east.cluster);
  const replaced: string[] = [];
  const foreignFields = {
    matchResources: { namespaceSelector: { matchLabels: { never: "matches" } } },
  };
  Object.assign(east.cluster, {
    async apply(path: string, body: { spec?: object }, how: Parameters<Cluster["apply"]>[2]) {
      const stored = await apply<{ metadata: object; spec: object }>(path, body, how);
      if (!policies.includes(path)) return stored;
      const metadata = { ...stored.metadata, resourceVersion: "7" };
      return { metadata, spec: { ...stored.spec, ...foreignFields } };
    },
    async replace(path: string, body: { metadata: { resourceVersion?: string }; spec: object }) {
      assert.equal(body.metadata.resourceVersion, "7");
      assert.ok(!("matchResources" in body.spec));
      replaced.push(path);
    },
  });
  await joinWith();
  assert.deepEqual(replaced, policies);
  assert.equal(policies.length, 4);
});

test("a repeated join does not grant a forbidden name that someone wrote into the Role", async () => {
  const { joinWith, granted } = clusters();
  await joinWith("web/regcred", "kube-system/global-pull-secret-joined-token");
  await joinWith();
  assert.deepEqual(granted(), ["web/regcred"]);
});

const isToken = (path: string) => path.endsWith("/secrets/east");
const isLast = (path: string) => path.includes("/clusterrolebindings/");

type Clusters = ReturnType<typeof clusters>;
const context = { context: "a" };
const left = "403 Refused; nothing of the join is left$";
const failures: readonly (readonly [
  when: string,
  prepare: (rig: Clusters) => void,
  message: string,
])[] = [
  ["the host cannot store the token", ({ host }) => void (host.forbids = isToken), left],
  ["the cluster refuses its last write", ({ there }) => void (there.forbids = isLast), left],
  [
    "the cluster has no admission policies",
    ({ there }) => void Object.assign(there, { forbids: () => true, status: 404 }),
    "^east: its API server has no Validating.* 1\\.30 or newer; nothing of the join is left$",
  ],
  [
    "the cluster does not show its identity",
    ({ there }) => void there.objects.set(own, { metadata: {} }),
    "^namespace/kube-system: has no uid$",
  ],
  [
    "the host does not show its identity",
    ({ host }) => void host.objects.delete(own),
    "^namespace/kube-system: has no uid$",
  ],
  [
    "the host is not prepared",
    ({ host }) => void host.objects.delete("/api/v1/namespaces/global-pull-secret-clusters"),
    "^namespace/global-pull-secret-clusters: not found in the host; apply manifests/fleet$",
  ],
  [
    "the name belongs to another manager",
    ({ host }) => {
      const spec = { clusterManager: { name: "x" } };
      host.objects.set(profileAt("east"), { metadata: {}, spec });
    },
    "^east: is a ClusterProfile of another manager; give another name$",
  ],
  [
    "the name belongs to another cluster",
    ({ host }) => void host.objects.set(profileAt("east"), profileOf("east", "x", context)),
    "^east: is the name of a different cluster; .* kubectl pull-secret fleet remove east$",
  ],
  [
    "the cluster has another name already",
    ({ host }) => void host.objects.set(profileAt("far"), profileOf("far", "east", context)),
    "^east: this cluster is joined already, as far$",
  ],
];
for (const [when, prepare, message] of failures)
  test(`leaves nothing in the cluster if ${when}`, async () => {
    const rig = clusters();
    prepare(rig);
    await assert.rejects(rig.joinWith(), { message: new RegExp(message) });
    assert.deepEqual([...rig.there.objects.keys()], [own]);
  });

test("keeps a failed first join in the list if one of its objects cannot be deleted", async () => {
  const { host, there: east, joinWith } = clusters();
  east.cluster.remove = async () => await Promise.reject(refusal(403, "DELETE", "/x"));
  host.forbids = isToken;
  const message = /403 Refused; join again, or kubectl pull-secret fleet remove east$/;
  await assert.rejects(joinWith(), { message });
  assert.ok(host.objects.has(profileAt("east")));
});

test("deletes nothing if a repeated join fails, and only advises to join again", async () => {
  const { host, there: east, joinWith } = clusters();
  await joinWith("web/a");
  const before = [...host.objects.keys(), ...east.objects.keys()];
  host.forbids = isToken;
  await assert.rejects(joinWith("web/a"), { message: /403 Refused; join again$/ });
  assert.deepEqual([...host.objects.keys(), ...east.objects.keys()], before);
});

test("only if --adopt is given, takes over a cluster of a lost host, and keeps the account's rights", async () => {
  const lost = clusters();
  await lost.joinWith("web/regcred");
  const { joinWith, granted } = clusters(lost.there, "rebuilt");
  await assert.rejects(joinWith(), /was made by host\/east; .*--adopt/);
  await joinWith("adopt");
  assert.deepEqual(granted(), ["web/regcred"]);
  const account = lost.there.objects.get(`${own}/serviceaccounts/global-pull-secret-joined`);
  assert.match(JSON.stringify(account), /rebuilt\/east/);
});

test("a repeated join removes the mark of an interrupted removal, but no other label", async () => {
  const { host, joinWith } = clusters();
  await joinWith("web/a");
  const path =
    "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/global-pull-secret-clusters/clusterprofiles/east";
  const apply = host.cluster.apply.bind(host.cluster);
  const label = "globalpullsecret.io/leaving";
  let labels: Record<string, string> = { tier: "prod", [label]: "true" };
  // As in server-side apply, a field manager changes only its own fields.
  host.cluster.apply = async <T>(
    at: string,
    body: object,
    options: Parameters<typeof apply>[2],
  ) => {
    if (at !== path) return await apply<T>(at, body, options);
    const { metadata } = body as { metadata: { labels?: object } };
    if (options.manager === "kubectl-pull-secret-leaving") {
      labels = { tier: "prod", ...metadata.labels };
      return { metadata: { uid: "u", labels } } as T;
    }
    const stored = await apply<{ metadata: object }>(at, body, options);
    return { ...stored, metadata: { ...stored.metadata, labels } } as T;
  };
  await joinWith();
  assert.deepEqual(labels, { tier: "prod" });
});

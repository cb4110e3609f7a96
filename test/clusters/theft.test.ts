/**
 * A thief has the token of a joined cluster. The thief tries to become another account, and to keep
 * access after the token was revoked. RBAC allows each of these requests, because RBAC checks the
 * names in a request, but not its content. The real token controller fills the Secrets that the
 * thief creates.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type V1Secret } from "@kubernetes/client-node";
import { joinedGuards } from "#contract/joined.ts";
import { tenantAccount } from "#contract/names.ts";
import { placed } from "#fleet/rules/content.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { connect } from "#kube/client/client.ts";
import { loadKubeConfig } from "#kube/load.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { requestToken } from "#kube/token.ts";
import { call } from "#plugin/fake.fixture.ts";
import { untilGuarded } from "#plugin/joining/guard-check.ts";
import { guardsOf, rightsOf } from "#plugin/joining/rights.ts";
import { syncSecretsIn } from "#tenants/objects.ts";
import { apiVersion, copyOf } from "#tenants/rules/copies.ts";
import { originAnnotationNames } from "#tenants/rules/origin.ts";
import { manifests } from "#tools/install/yaml.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { writeKubeconfig } from "../controller/plane.ts";
import { stamping } from "../controller/policies.ts";

const target = "fleet-pull-secret";
const targets = [{ namespace: "kube-system", name: target }];
const core = "/api/v1/namespaces/kube-system";
const path = `${core}/secrets/${target}`;
const tokens = `${core}/serviceaccounts/global-pull-secret-joined/token`;
const bound = { apiVersion: "v1", kind: "Secret", name: "global-pull-secret-joined-token" };
const its = ["-n", "kube-system"];
const how = { manager: "test", force: true };
const aDay = 24 * 3600;

let cluster: Cluster;
let admin: Api;
let thief: Api;

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  const config = loadKubeConfig(cluster.kubeconfig);
  admin = connect(config, () => {});
  for (const one of rightsOf(targets, "host/east")) await admin.apply(one.path, one.body, how);
  thief = apiWith("joined", await requestToken(admin));
  await untilAllowed(thief);
});
after(() => cluster.down());

function apiWith(name: string, token: string): Api {
  return connect(loadKubeConfig(writeKubeconfig(cluster, name, cluster.server, token)), () => {});
}

/** RBAC takes a moment to apply a Role. */
const untilAllowed = (account: Api, at = path) =>
  until("the account's rights are in force", () =>
    account.get(at).then(
      () => true,
      () => false,
    ),
  );

const secret = (type: string, annotations = {}, data = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  type,
  metadata: { name: target, namespace: "kube-system", annotations },
  data,
});
const tokenOf = (account: string) =>
  secret("kubernetes.io/service-account-token", { "kubernetes.io/service-account.name": account });

const request = (boundObjectRef?: object, expirationSeconds = aDay) => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  spec: { expirationSeconds, ...(boundObjectRef === undefined ? {} : { boundObjectRef }) },
});
type Answer = Readonly<{ status: { token: string } }>;

/** The user to whom the API server maps the token. */
async function userOf(name: string, token: string): Promise<string> {
  const review = await apiWith(name, token).create<{ status: { userInfo: { username: string } } }>(
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  );
  return review.status.userInfo.username;
}

/**
 * Waits until the token controller has put a token into the target, then deletes the target.
 * Returns the user of the token.
 */
async function filled(): Promise<string> {
  const token = await until("the Secret has a token", async () => {
    const made = await admin.get<V1Secret>(path);
    return made?.data?.["token"];
  });
  const user = await userOf("filled", Buffer.from(token, "base64").toString());
  await clear();
  return user;
}
const clear = () => cluster.kubectl("delete", "secret", target, ...its, "--ignore-not-found");

/**
 * Asserts that an admission policy refuses the request. The policy answers 422, and RBAC would
 * answer 403.
 */
async function refused(what: string, made: Promise<unknown>): Promise<void> {
  const status = await made.then(
    () => "made",
    (error: unknown) => (error instanceof ApiError ? error.status : error),
  );
  assert.equal(status, 422, what);
}

const opaque = secret("Opaque");
/** Metadata on which other programs act. */
const foreign = [
  { labels: { owner: "helm", name: "a" } },
  { labels: { "argocd.argoproj.io/secret-type": "cluster" } },
  { annotations: { "replicator.v1.mittwald.de/replicate-from": "kube-system/other" } },
  { finalizers: ["a.example/held"] },
  { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: "1" }] },
];

type Body = Readonly<{ kind: string; metadata: Readonly<{ name: string; namespace: string }> }>;

/**
 * Asserts that the account may neither set metadata on which other programs act, nor change what
 * others have set, but may write an object that others and admission label.
 */
async function leavesForeign(account: Api, at: string, body: Body): Promise<void> {
  const marked = (more: object) => ({ ...body, metadata: { ...body.metadata, ...more } });
  for (const state of ["create", "update"]) {
    if (state === "update") await account.apply(at, body, how);
    for (const more of foreign)
      await refused(`${state} with ${JSON.stringify(more)}`, account.apply(at, marked(more), how));
  }
  const { name, namespace } = body.metadata;
  const map = await admin.get<V1Secret>(
    `/api/v1/namespaces/${namespace}/configmaps/kube-root-ca.crt`,
  );
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "kube-root-ca.crt" };
  const ownerReferences = [{ ...owner, uid: map?.metadata?.uid ?? "" }];
  const other = { manager: "other", force: true };
  const theirs = { labels: { team: "a" }, finalizers: ["a.example/held"], ownerReferences };
  const { metadata } = await admin.apply<V1Secret>(at, marked(theirs), other);
  const { uid = "", resourceVersion = "" } = metadata ?? {};
  for (const change of [{ labels: { team: "b" } }, { finalizers: [] }, { ownerReferences: [] }]) {
    const patched = account.patch(at, { metadata: { uid, resourceVersion, ...change } });
    await refused(`change to ${JSON.stringify(change)}`, patched);
  }
  await cluster.apply(...stamping(body.kind, name));
  await until("admission labels the object", async () => {
    const { metadata: live } = await account.apply<V1Secret>(at, body, how);
    return live?.labels?.["team"] === "a" && live.labels["stamp"] === "s";
  });
  await cluster.kubectl("delete", "mutatingadmissionpolicies", "stamp");
  // Removes what the other client has set, so that the object can be deleted.
  await admin.apply(at, body, other);
}

/**
 * Asserts that the account gets no token of another account through a Secret that Kubernetes fills:
 * it may neither create such a Secret nor change an existing Secret into one.
 */
async function refusedAll(as: Api): Promise<void> {
  // Other users may create such Secrets, because the policies apply to this account only.
  await admin.apply(path, tokenOf("default"), how);
  const other = tokenOf("replicaset-controller");
  await refused("another account's name on an existing Secret", as.apply(path, other, how));
  assert.equal(await filled(), "system:serviceaccount:kube-system:default");
  for (const account of ["default", "replicaset-controller", "clusterrole-aggregation-controller"])
    await refused(account, as.apply(path, tokenOf(account), how));
  const tokenId = { "token-id": Buffer.from("abcdef").toString("base64") };
  const bootstrap = secret("bootstrap.kubernetes.io/token", {}, tokenId);
  await refused("a bootstrap token", as.apply(path, bootstrap, how));
  await leavesForeign(as, path, opaque);
  await clear();
  for (const name of [target, undefined]) {
    const metadata = { ...tokenOf("default").metadata, name, generateName: `${target}-` };
    const made = as.create(`${core}/secrets`, { ...tokenOf("default"), metadata });
    await assert.rejects(made, { status: 403 });
  }
  assert.equal(await admin.get(path), undefined);
  // The account may write the Secrets that a fleet places.
  for (const type of ["kubernetes.io/dockerconfigjson", "Opaque"]) {
    const data = { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") };
    const body = placed({ type, data }, "a/b/c", { namespace: "kube-system", name: target });
    const { metadata } = await as.apply<V1Secret>(path, body, how);
    await as.remove(path, metadata?.uid ?? "");
  }
}

test("lets a thief get any account's token, and a token of its own account that cannot be revoked, if only RBAC limits the account", async () => {
  await thief.apply(path, tokenOf("replicaset-controller"), how);
  const user = await filled();
  assert.equal(user, "system:serviceaccount:kube-system:replicaset-controller");
  const unbound = await thief.create<Answer>(tokens, request());
  await cluster.kubectl("delete", "secret", bound.name, ...its);
  const kept = apiWith("kept", unbound.status.token);
  await until("the bound token is void", () =>
    thief.get(path).then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 401,
    ),
  );
  assert.equal(await kept.get(path), undefined, "the other token is still valid");
});

test("refuses a token of another account under the policies of a join", async () => {
  for (const one of [...guardsOf("host/east"), ...rightsOf(targets, "host/east")])
    await admin.apply(one.path, one.body, how);
  thief = apiWith("joined", await requestToken(admin));
  await untilGuarded(thief, targets);
  await refusedAll(thief);
});

test("issues a token of the thief's own account under the policies only if the token is bound to the join's Secret and valid for at most 30 days", async () => {
  await thief.apply(path, secret("Opaque"), how);
  const to = (kind: string, name: string) => request({ ...bound, kind, name });
  await refused("bound to nothing", thief.create(tokens, request()));
  await refused("bound to a Secret of its own", thief.create(tokens, to("Secret", target)));
  await refused("bound to a Pod", thief.create(tokens, to("Pod", bound.name)));
  await refused("bound to a Node", thief.create(tokens, to("Node", bound.name)));
  await refused("for 31 days", thief.create(tokens, request(bound, 31 * aDay)));
  const token = await requestToken(thief);
  const user = await userOf("renewed", token);
  assert.equal(user, "system:serviceaccount:kube-system:global-pull-secret-joined");
  await clear();
});

test("lets the account change neither the policies nor its own rights", async () => {
  for (const one of [...guardsOf("host/east"), ...rightsOf(targets, "host/east")]) {
    if (one.path === path) continue;
    await assert.rejects(thief.apply(one.path, one.body, how), { status: 403 }, one.path);
    const { metadata } = (await admin.get<V1Secret>(one.path)) ?? {};
    await assert.rejects(thief.remove(one.path, metadata?.uid ?? ""), { status: 403 }, one.path);
  }
});

test("limits the account of `fleet rbac` in the same way", async () => {
  const { out } = await call(["fleet rbac", "--target", `kube-system/${target}`]);
  const file = join(cluster.directory, "fleet-rbac.yaml");
  writeFileSync(file, out);
  await cluster.kubectl("apply", "-f", file);
  const asks = ["create", "token", "global-pull-secret-fleet", ...its];
  const guest = apiWith("fleet", (await cluster.kubectl(...asks)).trim());
  await untilAllowed(guest);
  await until("the printed policy is in force", () =>
    guest.apply(path, tokenOf("default"), { ...how, dryRun: true }).then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 422,
    ),
  );
  await refusedAll(guest);
  await assert.rejects(guest.create(tokens, request(bound)), { status: 403 });
});

test("limits a tenant's account to the metadata of a copy", async () => {
  for (const folder of ["crds/syncsecrets", "sync/management"])
    await cluster.kubectl("apply", "-k", join(manifests, folder));
  const { out } = await call(["fleet tenant", "tenant-a"]);
  const file = join(cluster.directory, "tenant-a.yaml");
  writeFileSync(file, out);
  await cluster.kubectl("apply", "-f", file);
  // It refuses all objects until the controller manager finds the CRD.
  await cluster.kubectl("delete", "resourcequota", "--all", "-n", "tenant-a");
  const asks = ["create", "token", tenantAccount, "-n", "tenant-a"];
  const account = apiWith("tenant", (await cluster.kubectl(...asks)).trim());
  const metadata = { name: "s", namespace: "default", uid: randomUUID() };
  const object = { apiVersion, kind: "SyncSecret", metadata } as const;
  const copy = copyOf(object, { type: "Opaque", data: {} }, "tenant-a", "cluster");
  const at = `${syncSecretsIn("tenant-a")}/${metadata.uid}`;
  await untilAllowed(account, at);
  const owned = { ...copy, metadata: { ...copy.metadata, ...foreign.at(-1) } };
  await until("the policy is in force", () =>
    account.apply(at, owned, { ...how, dryRun: true }).then(
      () => false,
      (error: unknown) => error instanceof ApiError && error.status === 422,
    ),
  );
  await leavesForeign(account, at, copy);
  const annotations = { [originAnnotationNames[0]]: "a".repeat(254) };
  const large = { ...copy, metadata: { ...copy.metadata, annotations } };
  await refused("a large annotation", account.apply(at, large, how));
});

test("reports policies that are not in force, and stops the join", async () => {
  for (const { name } of joinedGuards)
    await cluster.kubectl("delete", "validatingadmissionpolicybinding", name);
  await until("the policies are no longer in force", () =>
    thief.create(tokens, request()).then(
      () => true,
      () => false,
    ),
  );
  await assert.rejects(untilGuarded(thief, targets), /does not apply the admission policies/);
});

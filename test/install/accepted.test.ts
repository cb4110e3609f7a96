/** The chart's optional parts on a real API server: admission, Pod Security, NetworkPolicy. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as names from "#contract/names.ts";
import { until } from "../cluster/await.ts";
import { startCluster, type Cluster } from "../cluster/cluster.ts";
import { objectOf } from "../controller/steer.ts";
import { addedBy, charted, kustomized } from "./kustomize.ts";

let cluster: Cluster;
const team = "team-pull-secret";

before(async () => {
  cluster = await startCluster({ nodes: 0 });
  const parts = ["admission", "annotated", "networkPolicy"].map((part) => `${part}.enabled=true`);
  await cluster.apply(...(await kustomized({ resources: ["."] })), ...(await addedBy(...parts)));
  await cluster.untilServed("globalpullsecrets.globalpullsecret.io");
  const sources = [{ name: "team", secretRef: { name: team }, priority: 1 }];
  await cluster.apply(objectOf({ sources }));
  await until("the policy is in force", async () => (await refusal(opaque(team))) !== "");
});
after(() => cluster?.down());

type Secret = Readonly<{ type: string; data?: Readonly<Record<string, string>> }>;
type Named = Secret & Readonly<{ name: string; namespace: string }>;

const dockerJson = "kubernetes.io/dockerconfigjson";
const key = ".dockerconfigjson";
const encoded = (text: string) => Buffer.from(text).toString("base64");
const holding = (text: string): Secret => ({ type: dockerJson, data: { [key]: encoded(text) } });
const opaque = (name: string) => named({ type: "Opaque" }, name);
const named = (secret: Secret, name: string, namespace = "kube-system"): Named => ({
  ...secret,
  name,
  namespace,
});

const object = ({ name, namespace, ...secret }: Named, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace, ...more },
  ...secret,
});

/**
 * Returns the error of a server-side dry run of `kubectl apply` for this Secret; empty if the API
 * server accepts the Secret. A client-side apply would copy the Secret into an annotation, which is
 * too small for the largest Secret.
 */
async function refusal(secret: Named, more: object = {}): Promise<string> {
  const file = join(cluster.directory, "secret.json");
  writeFileSync(file, JSON.stringify(object(secret, more)));
  const how = ["--server-side", "--force-conflicts", "--dry-run=server"];
  return await cluster.kubectl("apply", ...how, "-f", file).then(
    () => "",
    (error: Error) => error.message,
  );
}

const additional = names.additionalSecretName;
const right = '{"auths":{"quay.io":{"auth":"cm9ib3Q6cHc="}}}';
const largest = 480 * 1024;

const refused: readonly (readonly [what: string, secret: Secret, message: RegExp])[] = [
  [
    "another type",
    { type: "Opaque", data: { [key]: encoded(right) } },
    /type: is Opaque; give kubernetes\.io\/dockerconfigjson/,
  ],
  ["no type", { type: "", data: { [key]: encoded(right) } }, /type: is Opaque; give/],
  [
    "the old type",
    { type: "kubernetes.io/dockercfg", data: { ".dockercfg": encoded("{}") } },
    /type: is kubernetes\.io\/dockercfg; give/,
  ],
  [
    "the wrong key",
    { type: dockerJson, data: { "config.json": encoded(right) } },
    /Required value/,
  ],
  ["no data", { type: dockerJson }, /\.dockerconfigjson\]: Required value/],
  ["no JSON", holding("auths"), /invalid character/],
  [
    "one byte too many",
    holding(right + " ".repeat(largest - right.length + 1)),
    /has 491521 bytes; remove entries/,
  ],
];
for (const name of [additional, team])
  for (const [what, secret, message] of refused)
    test(`refused in ${name}: ${what}`, async () => {
      assert.match(await refusal(named(secret, name)), message);
    });

const accepted: readonly (readonly [what: string, secret: Named])[] = [
  ["a pull secret", named(holding(right), additional)],
  ["the Secret of an additional source", named(holding(right), team)],
  ["the largest Secret", named(holding(right + " ".repeat(largest - right.length)), additional)],
  ["a Secret that is not a source", opaque("other")],
  ["a source's name in another namespace", named({ type: "Opaque" }, additional, "default")],
  ["the controller's published Secret", opaque(names.globalSecretName)],
  ["the controller's state Secret", opaque(names.stateSecretName)],
];
for (const [what, secret] of accepted)
  test(`accepted: ${what}`, async () => {
    assert.equal(await refusal(secret), "");
  });

test("lets users annotate and delete a Secret that was invalid before it became a source, but refuses new data that is invalid too", async () => {
  const late = opaque("late-pull-secret");
  await cluster.apply(object(late));
  const secretRef = { name: late.name };
  await cluster.apply(objectOf({ sources: [{ name: "late", secretRef, priority: 2 }] }));
  const worse = { ...late, data: { [key]: encoded(right) } };
  await until("the Secret is a source", async () => (await refusal(worse)) !== "");
  assert.match(await refusal(worse), /type: is Opaque/);
  assert.equal(await refusal(late, { annotations: { "a.example/note": "mine" } }), "");
  await cluster.kubectl("delete", "secret", late.name, "-n", "kube-system");
});

const use = { "globalpullsecret.io/use": "true" };
const account = (name: string, annotations: object, namespace = "default") => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name, namespace, annotations },
});
const kubectlAs = (user: string, ...argv: readonly string[]) =>
  cluster.kubectl(...argv, `--as=${user}`);

async function createdBy(
  user: string,
  serviceAccount: ReturnType<typeof account>,
): Promise<string> {
  const file = join(cluster.directory, "account.json");
  writeFileSync(file, JSON.stringify(serviceAccount));
  return await kubectlAs(user, "create", "-f", file).then(
    () => "",
    (error: Error) => error.message,
  );
}

test("accepts the annotation that lets pods use the sources, but only in namespaces where the user has a binding", async () => {
  const bind = async (kind: string, role: string, user: string, ...where: readonly string[]) =>
    await cluster.kubectl(
      "create",
      kind,
      `${role}-${user}`,
      `--clusterrole=${role}`,
      `--user=${user}`,
      ...where,
    );
  await cluster.kubectl("create", "namespace", "granted");
  for (const user of ["editor", "user"]) await bind("clusterrolebinding", "edit", user);
  await bind("rolebinding", "global-pull-secret-use", "user", "-n", "granted");
  await until(
    "editors may write",
    async () => (await createdBy("editor", account("e", {}))) === "",
  );
  await until("the policy is in force", async () =>
    /needs the verb use on globalpullsecrets\/cluster; bind ClusterRole/.test(
      await createdBy("editor", account("annotated", use)),
    ),
  );
  const refusedTo = async (user: string, namespace: string) =>
    (await createdBy(user, account("annotated", use, namespace))) !== "";
  assert.equal(await refusedTo("user", "default"), true);
  assert.equal(await refusedTo("editor", "granted"), true);
  assert.equal(await refusedTo("user", "granted"), false);
});

test("lets a user without the binding remove the annotation and change everything else in the ServiceAccount, but not set the annotation", async () => {
  await cluster.apply(account("kept", use));
  const annotate = async (annotation: string) =>
    await kubectlAs("editor", "annotate", "--overwrite", "sa/kept", "-n", "default", annotation);
  await annotate("a.example/note=mine");
  await annotate("globalpullsecret.io/use=other");
  await annotate("globalpullsecret.io/use-");
  await assert.rejects(annotate("globalpullsecret.io/use="), /needs the verb use/);
  const merge = JSON.stringify({ metadata: { annotations: use } });
  const patch = ["patch", "sa/kept", "-n", "default", "--type=merge", "-p", merge];
  await assert.rejects(kubectlAs("editor", ...patch), /needs the verb use/);
  await cluster.kubectl(...patch);
});

test("under Pod Security restricted, accepts all our pods except the agents", async () => {
  const level = { "pod-security.kubernetes.io/enforce": "restricted" };
  const metadata = { name: "strict", labels: level };
  await cluster.apply({ apiVersion: "v1", kind: "Namespace", metadata });
  type Workload = {
    spec: { template: { metadata: object; spec: { serviceAccountName: string } } };
  };
  const workloads = (await charted()).filter(({ kind }) => /^(Deployment|Job)$/.test(kind));
  assert.equal(workloads.length, 3);
  const pods = workloads.map((workload) => {
    const { spec } = (workload as unknown as Workload).spec.template;
    const name = workload.metadata.name;
    const own = { ...spec, serviceAccountName: "default", restartPolicy: undefined };
    return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "strict" }, spec: own };
  });
  const account = ["serviceaccount", "default", "-n", "strict"];
  await until(
    "the namespace has its account",
    async () => (await cluster.get(...account)) !== undefined,
  );
  await cluster.apply(...pods);
  const bare = { containers: [{ name: "a", image: "b" }] };
  const wrong = { ...pods[0], metadata: { name: "bare", namespace: "strict" }, spec: bare };
  await assert.rejects(cluster.apply(wrong), /violates PodSecurity "restricted/);
});

test("limits the NetworkPolicy to the controller's pods and their port", async () => {
  type Rule = { ports: { port: number }[] };
  type Policy = { spec: { podSelector: object; ingress: Rule[]; egress: Rule[] } };
  type Deployment = {
    spec: {
      selector: object;
      template: { spec: { containers: { ports: { containerPort: number }[] }[] } };
    };
  };
  const name = "global-pull-secret-controller";
  const policy = await cluster.get<Policy>("networkpolicy", name, "-n", "kube-system");
  const deployment = await cluster.get<Deployment>("deployment", name, "-n", "kube-system");
  const ports = (rules: Rule[] = []) => rules.flatMap((rule) => rule.ports.map(({ port }) => port));
  assert.deepEqual(policy?.spec.podSelector, deployment?.spec.selector);
  const listens = deployment?.spec.template.spec.containers.flatMap((container) => container.ports);
  assert.deepEqual(
    ports(policy?.spec.ingress),
    listens?.map(({ containerPort }) => containerPort),
  );
  assert.deepEqual(ports(policy?.spec.egress), [443, 6443, 53, 53, 443]);
});

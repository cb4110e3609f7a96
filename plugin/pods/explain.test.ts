import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { loadDocuments } from "#kube/yaml.ts";
import { call, FakeCluster, pullSecret } from "#plugin/fake.fixture.ts";
import { object } from "#plugin/object.fixture.ts";

const shop = "/api/v1/namespaces/shop";
const denied = "pull access denied, repository does not exist or may require authorization";
const password = "pl4nted-s3cret";

type Pod = Readonly<{
  secrets?: readonly string[];
  waiting?: object;
  serviceAccountName?: string;
}>;

function podOf({ secrets = [], waiting, ...more }: Pod = {}) {
  return {
    kind: "Pod",
    metadata: { name: "web-0", namespace: "shop", uid: "u1" },
    spec: {
      nodeName: "n7",
      containers: [{ name: "app", image: "quay.io/team/app:1" }],
      imagePullSecrets: secrets.map((name) => ({ name })),
      ...more,
    },
    status: { containerStatuses: [{ name: "app", ...(waiting && { state: { waiting } }) }] },
  };
}

type Facts = Readonly<{
  pod?: Pod;
  /** The Secrets of the namespace by name, each with its entries or as an object. */
  secrets?: Readonly<Record<string, Readonly<Record<string, string>> | Readonly<{ type: string }>>>;
  account?: object;
  registries?: NonNullable<GlobalPullSecret["status"]>["registries"];
  global?: Parameters<typeof object>[0];
  events?: readonly object[];
  /** Paths below the namespace that the caller is not allowed to read. */
  refused?: readonly string[];
}>;

const ofOriginal = (...all: readonly string[]) =>
  all.map((registry) => ({ registry, source: "original" }));

function cluster(facts: Facts = {}): FakeCluster {
  const { secrets = {}, account = {}, registries = ofOriginal("quay.io"), global } = facts;
  const fake = new FakeCluster();
  fake.objects.set(`${shop}/pods/web-0`, podOf(facts.pod));
  fake.objects.set(`${shop}/serviceaccounts/default`, account);
  for (const [name, content] of Object.entries(secrets))
    fake.objects.set(`${shop}/secrets/${name}`, "type" in content ? content : pullSecret(content));
  for (const [at, event] of (facts.events ?? []).entries())
    fake.objects.set(`${shop}/events/${at}`, event);
  const status = { registries, ...global?.status };
  fake.objects.set(globalPullSecretPath, object({ ...global, status }));
  for (const path of facts.refused ?? []) fake.refusals.set(`${shop}/${path}`, 403);
  return fake;
}

async function printed(fake: FakeCluster, ...words: readonly string[]): Promise<string> {
  const input = { input: manifest, io: { documents: async (text: string) => loadDocuments(text) } };
  const { code, out, err } = await call(["explain", ...words], { cluster: fake, ...input });
  assert.deepEqual([code, err], [0, ""]);
  return out;
}

const elsewhere =
  "other entries in the node's config.json, and other credential providers, are not known here";
const usual = `pod/web-0 in shop (node n7, ServiceAccount default)
imagePullSecrets none

app: quay.io/team/app:1 is pulled with, in this order:
  1  node  quay.io  of original
Notes
  ${elsewhere}
`;

test("prints a pod's Secrets, images and credentials, and what applies to all images", async () =>
  assert.equal(await printed(cluster(), "po/web-0"), usual));

const bare = "app: quay.io/team/app:1 is pulled without a credential";
const secretOf = (type: string, key: string, text: string) => ({
  type: `kubernetes.io/${type}`,
  data: { [key]: btoa(text) },
});
const delivery = {
  mode: "CredentialProvider",
  credentialProvider: { scope: "Annotated" },
} as const;
const failures = ["n6", "n7"].map((node) => ({ node, message: `GPS218 ${node}`, since: "" }));
const refusedPull = { reason: "ErrImagePull", message: denied };
const error = `  ErrImagePull: ${denied}`;
const backOff = { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' };
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const event = {
  reason: "Failed",
  message: `Failed to pull image "quay.io/team/app:1": ${denied}`,
  involvedObject: { name: "web-0" },
};
const add = "kubectl pull-secret add quay.io -u USER --password-stdin";
const refusedEach = [
  "  fix: quay.io refused each credential above",
  "  fix: check the node's credential: kubectl pull-secret check --login",
];

/** The facts, and the lines that the command prints then and does not usually print. */
const rows: readonly (readonly [when: string, facts: Facts, lines: readonly string[]])[] = [
  [
    "Secrets are missing",
    { pod: { secrets: ["", "a", "b"] } },
    [
      "imagePullSecrets of the pod: a (not found), b (not found)",
      "  secret/a, secret/b: not found in shop; create it, or remove it from imagePullSecrets: the kubelet ignores it",
    ],
  ],
  [
    "a Secret has another type, and one the old type dockercfg",
    {
      pod: { secrets: ["a", "b"] },
      secrets: {
        a: { type: "Opaque" },
        b: secretOf("dockercfg", ".dockercfg", '{"quay.io":{"auth":"dTpw"}}'),
      },
    },
    [
      "imagePullSecrets of the pod: a (ignored: not a pull secret), b",
      "  1  secret/b  quay.io  u",
      "  2  node      quay.io  of original",
    ],
  ],
  [
    "the kubelet cannot read a Secret",
    {
      pod: { secrets: ["a"], waiting: refusedPull },
      secrets: { a: secretOf("dockerconfigjson", ".dockerconfigjson", "{") },
    },
    [
      "imagePullSecrets of the pod: a (broken: no image is pulled)",
      "  secret/a: document: not JSON; give one JSON object, without a byte order mark, comments or trailing commas",
      error,
      "  fix: correct secret/a: until then no image of the pod is pulled",
    ],
  ],
  [
    "the caller is not allowed to get a Secret and the ServiceAccount",
    {
      pod: { secrets: ["a"], waiting: refusedPull },
      refused: ["secrets/a", "serviceaccounts/default"],
    },
    [
      "imagePullSecrets of the pod: a (not read)",
      error,
      ...refusedEach,
      "  fix: check secret/a, which you are not allowed to read",
      "  no right to get the ServiceAccount: its imagePullSecrets were not read",
      "  secret/a: not read, because you have no right to get it; it is tried first",
    ],
  ],
  [
    "two Secrets have a credential, and the registry refuses all",
    {
      pod: { secrets: ["b", "a"], waiting: refusedPull },
      secrets: {
        a: { "https://quay.io": `r:${password}`, "quay.io/team": "t:p1", "ghcr.io": "g:p1" },
        b: { "quay.io": "b:p1" },
      },
    },
    [
      "imagePullSecrets of the pod: b, a",
      "  1  secret/a  quay.io/team     t",
      "  2  secret/b  quay.io          b",
      "  3  secret/a  https://quay.io  r",
      "  4  node      quay.io          of original",
      error,
      ...refusedEach,
      "  fix: renew secret/a, or remove it if the node's credential is enough",
      "  fix: renew secret/b, or remove it if the node's credential is enough",
    ],
  ],
  [
    "the ServiceAccount does not exist",
    { pod: { serviceAccountName: "gone" } },
    [
      "pod/web-0 in shop (node n7, ServiceAccount gone)",
      "  there is no ServiceAccount of this name in shop",
    ],
  ],
  [
    "the pod is older than its ServiceAccount's imagePullSecrets",
    { account: { imagePullSecrets: [{ name: "a" }] } },
    [
      "  the ServiceAccount names imagePullSecrets, but this pod was created before: delete the pod, and its successor gets them",
    ],
  ],
  [
    "the scope leaves out the ServiceAccount",
    {
      registries: [...ofOriginal("quay.io"), { registry: "quay.io/team", source: "team-a" }],
      global: { spec: { delivery } },
    },
    [
      "  the ServiceAccount is not annotated globalpullsecret.io/use: only the original's entries serve",
    ],
  ],
  [
    "the pod's node failed",
    { global: { status: { failures } } },
    ["  node n7 may lack the node's credential: GPS218 n7"],
  ],
  [
    "no entry serves the image, and the registry refuses the pull",
    { pod: { waiting: refusedPull }, registries: [] },
    [
      bare,
      error,
      `  fix: nothing here has a credential for quay.io; give the nodes one: ${add}`,
      "  fix: or name a Secret of namespace shop in imagePullSecrets",
    ],
  ],
  [
    "the kubelet gives the registry's answer itself",
    { pod: { waiting: { ...backOff, message: `${backOff.message}: ${denied}` } }, events: [event] },
    [`  ImagePullBackOff: ${backOff.message}: ${denied}`, ...refusedEach],
  ],
  [
    "only the newest Event about the image has the registry's answer",
    {
      pod: { waiting: backOff },
      events: [
        { ...event, message: '"quay.io/team/app:1": old', lastTimestamp: ago(60) },
        { ...event, series: { lastObservedTime: ago(5) }, lastTimestamp: ago(90) },
        { ...event, message: '"other"', lastTimestamp: ago(1) },
        { ...event, reason: "BackOff", lastTimestamp: ago(1) },
        { ...event, involvedObject: { name: "web-1" }, lastTimestamp: ago(1) },
      ],
    },
    [`  ImagePullBackOff, 5m ago: ${event.message}`, ...refusedEach],
  ],
  ["a container is still created", { pod: { waiting: { reason: "PodInitializing" } } }, []],
];
for (const [when, facts, lines] of rows)
  test(`prints what to know and do when ${when}`, async () => {
    const out = (await printed(cluster(facts), "pod/web-0")).replace(/ 5m\d+s ago/, " 5m ago");
    const usualLines = usual.split("\n");
    assert.deepEqual(
      out.split("\n").filter((line) => !usualLines.includes(line)),
      lines,
    );
    assert.ok(!out.includes("s3cret"));
  });

const advice: Readonly<Record<string, string>> = {
  "x509: certificate signed by unknown authority":
    "the node does not trust the certificate of quay.io; add its authority to the container runtime of the node; a credential does not help",
  "dial tcp: lookup quay.io: no such host":
    "the node does not reach quay.io; check DNS, proxy and firewall from that node; a credential does not help",
  "quay.io/team/app:1: not found":
    "quay.io has no such image or tag, or does not show it to these credentials; correct the name, or ask for the right to read it",
  "toomanyrequests: You have reached your pull rate limit":
    "quay.io limits pulls of this account; wait, or use an account with a higher limit",
  "invalid reference format":
    "correct the image's name: it is not valid, so no registry is contacted",
  "never pull": "imagePullPolicy is Never: load the image on the node, or allow the pull",
};
for (const [message, fix] of Object.entries(advice))
  test(`gives the right advice for the error ${JSON.stringify(message)}`, async () => {
    const pod = { waiting: { reason: "ErrImagePull", message } };
    const out = await printed(cluster({ pod }), "pod/web-0");
    assert.ok(out.includes(`  ErrImagePull: ${message}\n  fix: ${fix}\nNotes\n`), out);
  });

const manifest = `
kind: Service
---
kind: List
items:
- kind: Deployment
  metadata: {name: web}
  spec: {template: {spec: {containers: [{name: app, image: quay.io/x}]}}}
---
kind: CronJob
metadata: {name: night}
spec: {jobTemplate: {spec: {template: {spec: {
  imagePullSecrets: [{name: b}], containers: [{name: app, image: ghcr.io/x}]}}}}}
`;

test("explains the workloads of a manifest, with the ServiceAccount's Secrets", async () => {
  const account = { imagePullSecrets: [{ name: "a" }] };
  const fake = cluster({ account, secrets: { a: { "quay.io": "robot:p1" } } });
  assert.equal(
    await printed(fake, "-f", "-"),
    `deployment/web in shop (ServiceAccount default)
imagePullSecrets of the ServiceAccount: a

app: quay.io/x is pulled with, in this order:
  1  secret/a  quay.io  robot
  2  node      quay.io  of original
Notes
  ${elsewhere}
cronjob/night in shop (ServiceAccount default)
imagePullSecrets of the pod: b (not found)

app: ghcr.io/x is pulled without a credential
Notes
  the ServiceAccount's imagePullSecrets are not used: the pod names its own
  secret/b: not found in shop; create it, or remove it from imagePullSecrets: the kubelet ignores it
  ${elsewhere}
`,
  );
});

test("explains the failing pod of a workload, and the images of its containers and volumes", async () => {
  const fake = cluster();
  const { spec } = podOf();
  const image = "quay.io/x";
  const volumes = [{ name: "data", image: { reference: image } }, { name: "tmp" }];
  const template = {
    ...spec,
    initContainers: [{ name: "init", image }],
    ephemeralContainers: [{ name: "debug", image }],
    volumes,
  };
  fake.objects.set("/apis/apps/v1/namespaces/shop/deployments/web", {
    metadata: { name: "web", uid: "d1" },
    spec: { selector: { matchLabels: { app: "web" } }, template: { spec: template } },
  });
  assert.match(
    await printed(fake, "deploy/web"),
    /^deployment\/web in shop \(pod\/web-0, node n7, /,
  );
  const status = { initContainerStatuses: [{ name: "init", state: { waiting: refusedPull } }] };
  const metadata = { name: "web-1", uid: "u2" };
  fake.objects.set(`${shop}/pods/web-1`, { metadata, spec: template, status });
  const tries = [{ from: "node", registry: "quay.io", supplier: "of original", order: 1 }];
  const fix = refusedEach.map((line) => line.replace("  fix: ", ""));
  assert.deepEqual(JSON.parse(await printed(fake, "deploy/web", "-o", "json")), [
    {
      object: "deployment/web",
      namespace: "shop",
      pod: "web-1",
      node: "n7",
      serviceAccount: "default",
      imagePullSecrets: { declaredBy: "nobody", secrets: [] },
      images: [
        { container: "init", image, tries, error: refusedPull, fix },
        { container: "app", image: "quay.io/team/app:1", tries, fix: [] },
        { container: "debug", image, tries, fix: [] },
        { container: "volume data", image, tries, fix: [] },
      ],
      notes: [elsewhere],
    },
  ]);
});

test("reports a missing object, and suggests that the argument was meant as an image", async () => {
  const { code, err } = await call(["explain", "pod/none", "-n", "a"], { cluster: cluster() });
  assert.equal(code, 1);
  assert.match(err, /^pod\/none: not found in namespace a; give -n, or docker\.io\/pod\/none if /);
});

test("works without a GlobalPullSecret, but not if the API server fails", async () => {
  const fake = cluster();
  fake.objects.delete(globalPullSecretPath);
  const out = await printed(fake, "pod/web-0");
  assert.ok(
    out.includes(`\n${bare}\nNotes\n  globalpullsecret/cluster was not found or read: `),
    out,
  );
  fake.refusals.set(`${shop}/serviceaccounts/default`, 500);
  assert.equal((await call(["explain", "pod/web-0"], { cluster: fake })).code, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { loadDocuments } from "#kube/yaml.ts";
import { call, FakeCluster, pullSecret } from "#plugin/fake.fixture.ts";
import { object } from "#plugin/object.fixture.ts";

const shop = "/api/v1/namespaces/shop";
const denied =
  "failed to pull and unpack image: pull access denied, repository does not exist or may require authorization";
const password = "pl4nted-s3cret";

type Pod = Readonly<{ secrets?: readonly string[]; image?: string; waiting?: object }>;

function pod({ secrets = [], image = "quay.io/team/app:1", waiting }: Pod = {}) {
  return {
    kind: "Pod",
    metadata: { name: "web-0", namespace: "shop", uid: "u1" },
    spec: {
      nodeName: "n7",
      containers: [{ name: "app", image }],
      imagePullSecrets: secrets.map((name) => ({ name })),
    },
    status: { containerStatuses: [{ name: "app", ...(waiting && { state: { waiting } }) }] },
  };
}

const refusedPull = { reason: "ErrImagePull", message: denied };

function cluster(
  podObject: object = pod(),
  registries = [{ registry: "quay.io", source: "original" }],
) {
  const fake = new FakeCluster();
  fake.objects.set(`${shop}/pods/web-0`, podObject);
  fake.objects.set(`${shop}/serviceaccounts/default`, { metadata: { name: "default" } });
  fake.objects.set(globalPullSecretPath, object({ status: { registries } }));
  return fake;
}

const reported = async (fake: FakeCluster, what = "pod/web-0") => {
  const { code, out, err } = await call(["explain", what, "-o", "json"], { cluster: fake });
  assert.deepEqual([code, err], [0, ""]);
  const [answer] = JSON.parse(out) as [Answer];
  return answer;
};

type Answer = Readonly<{
  object: string;
  pod?: string;
  node: string;
  imagePullSecrets: { declaredBy: string; secrets: { name: string; state: string }[] };
  images: {
    container: string;
    image: string;
    tries: { from: string; registry: string; supplier: string; order: number }[];
    error?: { message: string };
    fix: string[];
  }[];
  notes: string[];
}>;

test("explains the image of a volume like that of a container", async () => {
  const podObject = pod();
  const volumes = [{ name: "data", image: { reference: "quay.io/team/data:1" } }, { name: "tmp" }];
  const fake = cluster({ ...podObject, spec: { ...podObject.spec, volumes } });
  const { images } = await reported(fake);
  assert.deepEqual(
    images.map(({ container, image, tries }) => [container, image, tries.length]),
    [
      ["app", "quay.io/team/app:1", 1],
      ["volume data", "quay.io/team/data:1", 1],
    ],
  );
});

test("lists the pod's Secrets before the node's credential, in the kubelet's order", async () => {
  const fake = cluster(pod({ secrets: ["b", "a"], waiting: refusedPull }));
  fake.objects.set(`${shop}/secrets/a`, pullSecret({ "quay.io": `robot:${password}` }));
  fake.objects.set(`${shop}/secrets/b`, pullSecret({ "quay.io/team": `ci:${password}` }));
  const { images, imagePullSecrets } = await reported(fake);
  assert.equal(imagePullSecrets.declaredBy, "pod");
  assert.deepEqual(images[0]?.tries, [
    { from: "secret/b", registry: "quay.io/team", supplier: "ci", order: 1 },
    { from: "secret/a", registry: "quay.io", supplier: "robot", order: 2 },
    { from: "node", registry: "quay.io", supplier: "of original", order: 3 },
  ]);
  assert.match(images[0]?.fix.join("\n") ?? "", /refused each .*check --login\nrenew secret\/b/s);
});

for (const [when, secrets, registries, order, shown] of [
  [
    "of two Secrets as the order in which the pod names them",
    { b: { "quay.io": "b:p" }, a: { "https://quay.io": "a:p", "quay.io/team": "t:p" } },
    ["quay.io"],
    "1 t, 2 b, 3 a, 4 of original",
    /with, in this order:\n/,
  ],
  [
    "as random for two spellings in one Secret",
    { a: { "quay.io": "a:p", "https://quay.io": "b:p" }, c: { "quay.io": "c:p" } },
    ["quay.io/team", "quay.io"],
    "1 b, 1 a, 3 c, 4 of original, 5 of original",
    /entries with the same number in random order/,
  ],
  [
    "as fixed for two spellings with the same credential",
    { a: { "quay.io": "a:p", "https://quay.io": "a:p" } },
    [],
    "1 a, 2 a",
    /with, in this order:\n/,
  ],
  [
    "as random for two spellings on the node",
    { a: { "ghcr.io": "g:p" } },
    ["quay.io", "https://quay.io"],
    "1 of original, 1 of original",
    /entries with the same number in random order/,
  ],
] as const)
  test(`reports the order ${when}`, async () => {
    const fake = cluster(
      pod({ secrets: Object.keys(secrets) }),
      registries.map((registry) => ({ registry, source: "original" })),
    );
    for (const [name, entries] of Object.entries(secrets))
      fake.objects.set(`${shop}/secrets/${name}`, pullSecret(entries));
    const { images } = await reported(fake);
    const tries = images[0]?.tries.map((attempt) => `${attempt.order} ${attempt.supplier}`);
    assert.equal(tries?.join(", "), order);
    const { out } = await call(["explain", "pod/web-0"], { cluster: fake });
    assert.match(out, shown);
  });

test("prints each image with its error, its age and a fix, and never a password", async () => {
  const waiting = { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' };
  const fake = cluster(pod({ secrets: ["a"], waiting }));
  fake.objects.set(`${shop}/secrets/a`, pullSecret({ "ghcr.io": `robot:${password}` }));
  const event = {
    reason: "Failed",
    message: `Failed to pull image "quay.io/team/app:1": ${denied}`,
    lastTimestamp: new Date(Date.now() - 300_000).toISOString(),
    involvedObject: { kind: "Pod", name: "web-0" },
  };
  fake.objects.set(`${shop}/events/e1`, event);
  fake.objects.set(`${shop}/events/e2`, { ...event, lastTimestamp: "2020-01-01T00:00:00Z" });
  const { code, out } = await call(["explain", "po/web-0"], { cluster: fake });
  assert.equal(code, 0);
  assert.match(
    out,
    /^pod\/web-0 in shop \(node n7, ServiceAccount default\)\nimagePullSecrets of the pod: a\n/,
  );
  assert.match(
    out,
    /app: quay\.io\/team\/app:1 is pulled with, in this order:\n {2}1 {2}node {2}quay/,
  );
  assert.match(out, /ImagePullBackOff, 5m\d?s? ago: Failed to pull image .*access denied/);
  assert.match(out, /fix: quay\.io refused each credential above\n/);
  assert.ok(
    !out.includes("s3cret") &&
      !out.includes(Buffer.from(`robot:${password}`, "utf8").toString("base64")),
  );
});

for (const [what, secret, state, shown] of [
  ["is missing", undefined, "missing", /secret\/a: not found in shop; create it/],
  ["has another type", { type: "Opaque", data: {} }, "ignored", undefined],
  [
    "cannot be read by the kubelet",
    {
      type: "kubernetes.io/dockerconfigjson",
      data: { ".dockerconfigjson": Buffer.from("{").toString("base64") },
    },
    "broken",
    undefined,
  ],
  [
    "has the old type dockercfg",
    {
      type: "kubernetes.io/dockercfg",
      data: { ".dockercfg": Buffer.from('{"quay.io":{"auth":"dTpw"}}').toString("base64") },
    },
    "read",
    undefined,
  ],
] as const)
  test(`reports a Secret that ${what} as ${state}`, async () => {
    const fake = cluster(pod({ secrets: ["a"] }));
    if (secret !== undefined) fake.objects.set(`${shop}/secrets/a`, secret);
    const { imagePullSecrets, notes, images } = await reported(fake);
    assert.equal(imagePullSecrets.secrets[0]?.state, state);
    assert.equal(/correct secret\/a/.test(images[0]?.fix.join("") ?? ""), state === "broken");
    if (shown !== undefined) assert.match(notes.join("\n"), shown);
  });

test("lists the Secrets that the caller is not allowed to get", async () => {
  const fake = cluster(pod({ secrets: ["a"], waiting: refusedPull }));
  fake.refusals.set(`${shop}/secrets/a`, 403);
  const { imagePullSecrets, notes, images } = await reported(fake);
  assert.deepEqual(imagePullSecrets.secrets, [{ name: "a", state: "notRead" }]);
  assert.match(notes.join("\n"), /secret\/a: not read, because you have no right to get it/);
  assert.match(
    images[0]?.fix.join("\n") ?? "",
    /check secret\/a, which you are not allowed to read/,
  );
});

test("uses the ServiceAccount's Secrets for a manifest, but not for an existing pod", async () => {
  const fake = cluster(pod());
  const account = { metadata: { name: "default" }, imagePullSecrets: [{ name: "a" }] };
  fake.objects.set(`${shop}/serviceaccounts/default`, account);
  fake.objects.set(`${shop}/secrets/a`, pullSecret({ "quay.io": "robot:p" }));
  const live = await reported(fake);
  assert.equal(live.imagePullSecrets.declaredBy, "nobody");
  assert.match(live.notes.join("\n"), /this pod was created before: delete the pod/);
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
spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: app, image: ghcr.io/x}]}}}}}
`;
  const { code, out } = await call(["explain", "-f", "-", "-o", "json"], {
    cluster: fake,
    input: manifest,
    io: { documents: (text) => Promise.resolve(loadDocuments(text)) },
  });
  const [first, second] = JSON.parse(out) as Answer[];
  assert.deepEqual([code, first?.object, second?.object], [0, "deployment/web", "cronjob/night"]);
  assert.equal(first?.imagePullSecrets.declaredBy, "serviceAccount");
  assert.deepEqual(
    first?.images[0]?.tries.map(({ from }) => from),
    ["secret/a", "node"],
  );
});

test("explains the failing pod of a workload", async () => {
  const fake = cluster(pod());
  const failing = { ...pod({ waiting: refusedPull }), metadata: { name: "web-1", uid: "u2" } };
  fake.objects.set(`${shop}/pods/web-1`, failing);
  fake.objects.set("/apis/apps/v1/namespaces/shop/deployments/web", {
    metadata: { name: "web", uid: "d1" },
    spec: { selector: { matchLabels: { app: "web" } }, template: { spec: failing.spec } },
  });
  const { object, pod: podName, images } = await reported(fake, "deploy/web");
  assert.deepEqual(
    [object, podName, images[0]?.error?.message],
    ["deployment/web", "web-1", denied],
  );
});

test("suggests adding a credential if no entry serves the image and the registry has refused the pull", async () => {
  const { images } = await reported(cluster(pod({ waiting: refusedPull }), []));
  assert.match(images[0]?.fix[0] ?? "", /pull-secret add quay\.io -u USER --password-stdin/);
});

for (const [message, fix] of [
  ["x509: certificate signed by unknown authority", /does not trust the certificate of quay\.io/],
  ["dial tcp: lookup quay.io: no such host", /does not reach quay\.io/],
  ["quay.io/team/app:1: not found", /no such image or tag/],
  ["toomanyrequests: You have reached your pull rate limit", /limits pulls of this account/],
  ["invalid reference format", /correct the image's name/],
  ["unexpected media type", /read the message/],
] as const)
  test(`gives the right advice for the error ${JSON.stringify(message)}`, async () => {
    const waiting = { reason: "ErrImagePull", message };
    const { images } = await reported(cluster(pod({ waiting })));
    assert.match(images[0]?.fix.join("\n") ?? "", fix);
  });

test("leaves out credentials that the scope does not allow for pods of this ServiceAccount", async () => {
  const fake = cluster(pod());
  const delivery = {
    mode: "CredentialProvider",
    credentialProvider: { scope: "Annotated" },
  } as const;
  const registries = [
    { registry: "quay.io", source: "original" },
    { registry: "quay.io/team", source: "additional-pull-secret" },
  ];
  fake.objects.set(globalPullSecretPath, object({ spec: { delivery }, status: { registries } }));
  const { images, notes } = await reported(fake);
  assert.deepEqual(
    images[0]?.tries.map(({ registry }) => registry),
    ["quay.io"],
  );
  assert.match(notes.join("\n"), /not annotated globalpullsecret\.io\/use/);
});

test("reports a missing object, and suggests that the argument was meant as an image", async () => {
  const { code, err } = await call(["explain", "pod/none", "-n", "a"], { cluster: cluster() });
  assert.equal(code, 1);
  assert.match(err, /^pod\/none: not found in namespace a; give -n, or docker\.io\/pod\/none if /);
});

test("works without a GlobalPullSecret", async () => {
  const fake = cluster(pod());
  fake.objects.delete(globalPullSecretPath);
  const { notes } = await reported(fake);
  assert.match(notes.join("\n"), /the node's credentials are not known/);
  fake.refusals.set(`${shop}/serviceaccounts/default`, 500);
  const { code } = await call(["explain", "pod/web-0"], { cluster: fake });
  assert.equal(code, 1);
});

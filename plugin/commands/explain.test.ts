import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import type { DeliverySpec, GlobalPullSecretStatus } from "#api/global-pull-secret.ts";
import { call, FakeCluster } from "../fake.fixture.ts";
import { object } from "../object.fixture.ts";
import {
  clusterOf,
  elsewhere,
  podOf,
  printed,
  refusedEach,
  refusedPull,
  shop,
} from "../pods/pod.fixture.ts";

const app = "quay.io/team/app:1";
const registries = [
  { registry: "quay.io", source: "original" },
  { registry: "quay.io/team", source: "team-a", shadows: ["original"] },
  { registry: "ghcr.io", source: "additional-pull-secret" },
];

async function explain(
  words: string,
  delivery: DeliverySpec = {},
  status: GlobalPullSecretStatus = { registries },
) {
  const cluster = new FakeCluster();
  cluster.objects.set(globalPullSecretPath, object({ status, spec: { delivery } }));
  return await call(["explain", ...words.split(" ")], { cluster });
}

const whole = ["quay.io", "quay.io/team"].map((registry) => ({ registry, source: "team-a" }));
const scoped = { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } } as const;
const fileFirst =
  "  1  quay.io/team  of team-a, instead of original\n  2  quay.io       of original\n";
const providerLast =
  "  1  quay.io       of original\n  2  quay.io/team  of team-a, instead of original\n";
const rest = "not tried:\n  -  ghcr.io  another host\n";
const cases: readonly (readonly [
  what: string,
  delivery: DeliverySpec,
  out: string,
  err: string,
  status?: GlobalPullSecretStatus,
])[] = [
  ["and needs no right on Secrets", {}, `${fileFirst}${rest}`, ""],
  ["the original first with a provider", { mode: scoped.mode }, `${providerLast}${rest}`, ""],
  [
    "and the scope of the provider",
    scoped,
    `${providerLast}${rest}`,
    "other sources serve only pods whose ServiceAccount is annotated globalpullsecret.io/use\n",
  ],
  ["entries of config.json first with Runtime", { mode: "Runtime" }, `${fileFirst}${rest}`, ""],
  [
    "and entries in hosts.toml with Runtime",
    { mode: "Runtime" },
    "  1  quay.io/team  of team-a\n  2  quay.io       of team-a, in hosts.toml\n",
    "",
    { registries: whole },
  ],
];
for (const [what, delivery, out, err, status] of cases)
  test(`\`explain\` names the sources of an image's entries, in the kubelet's order, ${what}`, async () => {
    const printed = `${app} is pulled with, in this order:\n${out}`;
    assert.deepEqual(await explain(app, delivery, status), { code: 0, out: printed, err });
  });

test("F62: `explain` gives the same number to all spellings of one registry in the original", async () => {
  for (const mode of ["Restart", "CredentialProvider"] as const) {
    const spellings = ["quay.io", "https://quay.io", "quay.io/team"].map((registry) => ({
      registry,
      source: "original",
    }));
    const { out } = await explain(app, { mode }, { registries: spellings });
    assert.equal(
      out,
      `${app} is pulled with, in this order (the kubelet tries entries with the same number in random order):\n` +
        "  1  quay.io/team     of original\n  2  https://quay.io  of original\n" +
        "  2  quay.io          of original\n",
    );
  }
});

test("`explain -o json` and `-o yaml` have a stable shape, and show whether status lists all registries", async () => {
  const status = { registries, registriesOmitted: 3 };
  const { out, err } = await explain("ghcr.io/x -o json", {}, status);
  const reason = "another host";
  assert.deepEqual(JSON.parse(out), {
    image: "ghcr.io/x",
    tries: [{ registry: "ghcr.io", source: "additional-pull-secret", order: 1 }],
    ignored: ["quay.io/team", "quay.io"].map((registry) => ({ registry, reason })),
    omitted: 3,
  });
  assert.equal(err, "status does not list 3 registries; one of them may serve it, too\n");
  const yaml = await explain("ghcr.io/x -o yaml", {}, status);
  assert.deepEqual(JSON.parse(yaml.out), JSON.parse(out));
});

test("`explain` reports an image that no entry serves, an invalid image, and a missing object", async () => {
  const many = Array.from({ length: 22 }, (_, at) => ({
    registry: `r${at}.io`,
    source: "original",
  }));
  for (const [count, more] of [
    [20, ""],
    [21, "  and 1 more; -o json lists all\n"],
    [22, "  and 2 more; -o json lists all\n"],
  ] as const) {
    const { out } = await explain("a.io/x", {}, { registries: many.slice(0, count) });
    const [first, head, ...lines] = out.replace(more, "").trimEnd().split("\n");
    assert.deepEqual([first, head], ["a.io/x is pulled without a credential", "not tried:"]);
    assert.deepEqual([lines.length, out.endsWith(`another host\n${more}`)], [20, true]);
  }
  const wrong = await explain("A//b");
  assert.deepEqual([wrong.code, wrong.out], [2, ""]);
  assert.match(wrong.err, /^IMAGE: not an image reference/);
  assert.equal((await call(["explain", "a.io/x"])).code, 1);
});

const workloads = {
  "apis/apps/v1/namespaces/shop/deployments/web": {
    spec: { template: { spec: { containers: [{ name: "app", image: "quay.io/x" }] } } },
  },
  "apis/batch/v1/namespaces/shop/cronjobs/night": {
    spec: {
      jobTemplate: {
        spec: {
          template: {
            spec: {
              imagePullSecrets: [{ name: "b" }],
              containers: [{ name: "app", image: "ghcr.io/x" }],
            },
          },
        },
      },
    },
  },
};

test("explains workloads that have no pod yet, with the ServiceAccount's Secrets", async () => {
  const account = { imagePullSecrets: [{ name: "a" }] };
  const fake = clusterOf({ account, secrets: { a: { "quay.io": "robot:p1" } } });
  for (const [path, { spec }] of Object.entries(workloads))
    fake.objects.set(`/${path}`, { metadata: { name: path.split("/").at(-1) }, spec });
  assert.equal(
    await printed(fake, ["deploy/web"]),
    `deployment/web in shop (ServiceAccount default)
imagePullSecrets of the ServiceAccount: a

app: quay.io/x is pulled with, in this order:
  1  secret/a  quay.io  robot
  2  node      quay.io  of original
Notes
  ${elsewhere}
`,
  );
  assert.equal(
    await printed(fake, ["cj/night"]),
    `cronjob/night in shop (ServiceAccount default)
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
  const fake = clusterOf();
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
    await printed(fake, ["deploy/web"]),
    /^deployment\/web in shop \(pod\/web-0, node n7, /,
  );
  const status = { initContainerStatuses: [{ name: "init", state: { waiting: refusedPull } }] };
  const metadata = { name: "web-1", uid: "u2", labels: { app: "web" } };
  // The failing pod of another workload.
  const other = { name: "api-0", uid: "u3", labels: { app: "api" } };
  fake.objects.set(`${shop}/pods/api-0`, { metadata: other, spec: template, status });
  fake.objects.set(`${shop}/pods/web-1`, { metadata, spec: template, status });
  const tries = [{ from: "node", registry: "quay.io", supplier: "of original", order: 1 }];
  assert.deepEqual(JSON.parse(await printed(fake, ["deploy/web", "-o", "json"])), {
    object: "deployment/web",
    namespace: "shop",
    pod: "web-1",
    node: "n7",
    serviceAccount: "default",
    imagePullSecrets: { declaredBy: "nobody", secrets: [] },
    images: [
      { container: "init", image, tries, error: refusedPull, fix: refusedEach },
      { container: "app", image: "quay.io/team/app:1", tries, fix: [] },
      { container: "debug", image, tries, fix: [] },
      { container: "volume data", image, tries, fix: [] },
    ],
    notes: [elsewhere],
  });
});

test("reports a missing object, and suggests that the argument was meant as an image", async () => {
  const { code, err } = await call(["explain", "pod/none", "-n", "a"], { cluster: clusterOf() });
  assert.equal(code, 1);
  assert.match(err, /^pod\/none: not found in namespace a; give -n, or docker\.io\/pod\/none if /);
});

test("works without a GlobalPullSecret, but not if the API server fails", async () => {
  const fake = clusterOf();
  fake.objects.delete(globalPullSecretPath);
  const out = await printed(fake, ["pod/web-0"]);
  assert.ok(
    out.includes(
      `\napp: quay.io/team/app:1 is pulled without a credential\nNotes\n  globalpullsecret/cluster was not found or read: `,
    ),
    out,
  );
  fake.refusals.set(`${shop}/serviceaccounts/default`, 500);
  assert.equal((await call(["explain", "pod/web-0"], { cluster: fake })).code, 1);
});

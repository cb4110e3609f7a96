import assert from "node:assert/strict";
import { test } from "node:test";
import {
  clusterOf,
  denied,
  elsewhere,
  ofOriginal,
  printed,
  refusedEach,
  refusedPull,
  type Facts,
} from "./pod.fixture.ts";
import { kindOf, type ErrorKind } from "./trouble.ts";

const password = "pl4nted-s3cret";
const usual = `pod/web-0 in shop (node n7, ServiceAccount default)
imagePullSecrets none

app: quay.io/team/app:1 is pulled with, in this order:
  1  node  quay.io  of original
Notes
  ${elsewhere}
`;

test("prints a pod's Secrets, images and credentials, and what applies to all images", async () =>
  assert.equal(await printed(clusterOf(), ["po/web-0"]), usual));

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
const error = `  ErrImagePull: ${denied}`;
const backOff = { reason: "ImagePullBackOff", message: 'Back-off pulling image "x"' };
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
const event = {
  reason: "Failed",
  message: `Failed to pull image "quay.io/team/app:1": ${denied}`,
  involvedObject: { name: "web-0" },
};
const add = "kubectl pull-secret add quay.io -u USER --password-stdin";
const fixes = refusedEach.map((step) => `  fix: ${step}`);

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
        a: { ...secretOf("", ".dockercfg", '{"quay.io":{"auth":"dTpw"}}'), type: "Opaque" },
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
      ...fixes,
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
      ...fixes,
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
    [`  ImagePullBackOff: ${backOff.message}: ${denied}`, ...fixes],
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
    [`  ImagePullBackOff, 5m ago: ${event.message}`, ...fixes],
  ],
  ["a container is still created", { pod: { waiting: { reason: "PodInitializing" } } }, []],
];
for (const [when, facts, lines] of rows)
  test(`prints what to know and do when ${when}`, async () => {
    const out = (await printed(clusterOf(facts), ["pod/web-0"])).replace(/ 5m\d+s ago/, " 5m ago");
    const usualLines = usual.split("\n");
    assert.deepEqual(
      out.split("\n").filter((line) => !usualLines.includes(line)),
      lines,
    );
    assert.ok(!out.includes("s3cret"));
  });

test("shows the state of each Secret in the JSON, and why the kubelet does not use it", async () => {
  const fake = clusterOf({
    pod: { secrets: ["read", "missing", "opaque", "plain", "empty", "broken", "notRead"] },
    secrets: {
      read: { "quay.io": "u:p1" },
      opaque: { ...secretOf("", ".dockerconfigjson", "{}"), type: "Opaque" },
      plain: { ...secretOf("", ".dockerconfigjson", "{}"), type: "" },
      empty: secretOf("dockerconfigjson", ".dockerconfigjson", ""),
      broken: secretOf("dockerconfigjson", ".dockerconfigjson", "{"),
    },
    refused: ["secrets/notRead"],
  });
  const { imagePullSecrets } = JSON.parse(await printed(fake, ["pod/web-0", "-o", "json"]));
  const ignored = (type: string) => ({
    state: "ignored",
    why: `type ${type} without a pull secret`,
  });
  const why =
    "secret/broken: document: not JSON; give one JSON object, without a byte order mark, comments or trailing commas";
  assert.deepEqual(imagePullSecrets, {
    declaredBy: "pod",
    secrets: [
      { name: "read", state: "read" },
      { name: "missing", state: "missing" },
      { name: "opaque", ...ignored("Opaque") },
      { name: "plain", ...ignored("Opaque") },
      { name: "empty", ...ignored("kubernetes.io/dockerconfigjson") },
      { name: "broken", state: "broken", why },
      { name: "notRead", state: "notRead" },
    ],
  });
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
/** The reasons of a waiting container, and whether the container waits for its image. */
const reasons = {
  ErrImagePull: true,
  ImagePullBackOff: true,
  ErrImageNeverPull: true,
  InvalidImageName: true,
  ImageInspectError: true,
  RegistryUnavailable: true,
  SignatureValidationFailed: true,
  ErrImageNotPresent: true,
  CrashLoopBackOff: false,
  PodInitializing: false,
};
for (const [reason, isError] of Object.entries(reasons))
  test(`shows ${isError ? "the error" : "no error"} of a container that waits with ${reason}`, async () => {
    const out = await printed(clusterOf({ pod: { waiting: { reason, message: "it" } } }), [
      "pod/web-0",
    ]);
    assert.equal(out.includes(`  ${reason}: it\n`), isError, out);
  });

for (const [message, fix] of Object.entries(advice))
  test(`gives the right advice for the error ${JSON.stringify(message)}`, async () => {
    const pod = { waiting: { reason: "ErrImagePull", message } };
    const out = await printed(clusterOf({ pod }), ["pod/web-0"]);
    assert.ok(out.includes(`  ErrImagePull: ${message}\n  fix: ${fix}\nNotes\n`), out);
  });

/** The words by which registries, runtimes and the kubelet report each kind of error. */
const spellings: Readonly<Record<ErrorKind, readonly string[]>> = {
  never: ["ErrImageNeverPull: no image", "ErrImagePull: policy Never Pull"],
  name: [
    "InvalidImageName: x",
    "ErrImagePull: Invalid reference format",
    `ErrImagePull: couldn't parse image name "A/b": forbidden`,
  ],
  rate: [
    "ErrImagePull: toomanyrequests: denied: too many requests",
    "ErrImagePull: API rate limit exceeded",
    "ErrImagePull: unexpected status code 429",
  ],
  refused: [
    "ErrImagePull: UNAUTHORIZED: x",
    "ErrImagePull: unauthorised",
    "ErrImagePull: authentication required",
    "ErrImagePull: pull access denied, repository does not exist",
    "ErrImagePull: denied: no",
    "ErrImagePull: 403 Forbidden",
    "ErrImagePull: no basic auth credentials",
    "ErrImagePull: insufficient_scope",
    "ErrImagePull: authorization failed: no such host",
    "ErrImagePull: unexpected status 401",
    "ErrImagePull: unexpected status 403",
  ],
  trust: [
    "ErrImagePull: x509: unknown authority",
    "ErrImagePull: tls: bad certificate",
    "ErrImagePull: http: server gave HTTP response to HTTPS client",
  ],
  absent: [
    "ErrImagePull: a: not found",
    "ErrImagePull: manifest unknown",
    "ErrImagePull: name unknown",
    "ErrImagePull: repository does not exist",
    "ErrImagePull: unexpected status 404",
  ],
  network: [
    "ErrImagePull: lookup a: no such host",
    "ErrImagePull: i/o timeout",
    "ErrImagePull: Time-out",
    "ErrImagePull: dial tcp 10.0.0.1:443",
    "ErrImagePull: connection refused",
    "ErrImagePull: no route to host",
    "ErrImagePull: connection reset by peer",
    "ErrImagePull: unexpected EOF",
    "RegistryUnavailable: x",
  ],
  other: ["ErrImagePull: digest 4290404 is odd", "ErrImagePull: no space left on device"],
};
for (const [kind, errors] of Object.entries(spellings))
  test(`recognises each spelling of an error of the kind ${kind}`, () => {
    for (const error of errors) {
      const [reason = "", ...message] = error.split(": ");
      assert.equal(kindOf({ reason, message: message.join(": ") }), kind, error);
    }
  });

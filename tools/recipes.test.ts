/**
 * Checks with the product's code the content of docs/recipes/, docs/use/quick-start.md and
 * docs/use/troubleshoot.md.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load, loadAll } from "js-yaml";
import { readyReasons, stalledReasons } from "#api/reasons.ts";
import { globalPullSecretPath, leaseIn } from "#kube/client/paths.ts";
import { nodeOf, objectOf, orderAt, reportOf } from "#controller/rollout/snapshot.fixture.ts";
import { untilAskedAgain } from "#controller/rollout/waits.ts";
import { catalogue } from "#controller/sources/problems.ts";
import { troubles } from "#controller/status/messages.ts";
import { call, FakeCluster } from "#plugin/fake.fixture.ts";
import { object, conditionsOf } from "#plugin/object.fixture.ts";
import { statusLines } from "#plugin/show/status.ts";
import { paintFor } from "#plugin/terminal/paint.ts";
import { parse } from "#pullsecret/document/parse.ts";
import { missingLine, pageOf } from "#test/page.ts";
import { linesOf } from "#test/plugin/shown-lines.ts";
import { objectsOf, textOf } from "./install/yaml.ts";

const page = readFileSync("docs/recipes/README.md", "utf8");

type ExternalSecret = Readonly<{
  kind: string;
  metadata: { name: string; namespace: string };
  spec: {
    target: { template: { type: string; data: Record<string, string> } };
  };
}>;

const objects = Array.from(page.matchAll(/^```yaml\n(.*?)^```/gms)).flatMap(
  ([, text = ""]) => loadAll(text) as { kind: string }[],
);
const ofKind = (kind: string): unknown => objects.find((object) => object.kind === kind);

test("the template of the ECR recipe makes a pull secret without warnings", () => {
  const { metadata, spec } = ofKind("ExternalSecret") as ExternalSecret;
  assert.deepEqual(metadata, { name: "additional-pull-secret", namespace: "kube-system" });
  const { type, data } = spec.target.template;
  assert.equal(type, "kubernetes.io/dockerconfigjson");
  // The values that the ECR generator supplies, according to its documentation.
  const supplied: Readonly<Record<string, string>> = {
    '.proxy_endpoint | replace "https://" ""': "0123.dkr.ecr.eu-west-1.amazonaws.com",
    ".username": "AWS",
    ".password": "eyJwYXlsb2FkIjoi",
  };
  const text = data[".dockerconfigjson"]?.replaceAll(
    /\{\{ (.*?) \}\}/g,
    (_, expression: string) => {
      const value = supplied[expression];
      assert.ok(value, expression);
      return value;
    },
  );
  const parsed = parse(Buffer.from(text ?? ""), { name: "additional", role: "additional" });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const registries = parsed.entries.map(({ registry }) => registry);
  assert.deepEqual([registries, parsed.warnings], [["0123.dkr.ecr.eu-west-1.amazonaws.com"], []]);
});

test("the quick start builds, saves, loads and installs one image, and otherwise follows README.md", () => {
  const lines = linesOf(readFileSync("docs/use/quick-start.md", "utf8"));
  const { appVersion } = load(textOf("chart/Chart.yaml")) as { appVersion: string };
  const repository = /image\.repository=(\S+)$/m.exec(lines.join("\n"))?.[1] ?? "";
  const image = `${repository}:${appVersion}`;
  assert.deepEqual(lines.slice(2, 6), [
    `docker build -f Containerfile -t ${image} .`,
    `docker save -o gps.tar ${image}`,
    "kind create cluster --config kind.yaml",
    "kind load image-archive gps.tar",
  ]);
  const ofReadme = linesOf(readFileSync("README.md", "utf8"));
  const same = new Set(lines.filter((line) => /^npm |^export |pull-secret wait$/.test(line)));
  assert.equal(same.size, 3);
  for (const line of same) assert.ok(ofReadme.includes(line), line);
});

for (const [what, shown, printed, missing] of [
  [
    "accepts other ages and widths",
    "NAME  AGE\na     5s",
    "NAME     AGE\na        12m30s",
    undefined,
  ],
  ["accepts lines that the page leaves out", "a\n…\nc", "a\nb\nc\nd", undefined],
  ["accepts a part of a line that the page leaves out", "a … d", "a b c d", undefined],
  ["finds a line that ends differently", "a … d", "a b c", "a … d"],
  ["finds a line with a different word", "pod/a created", "pod/a unchanged", "pod/a created"],
  ["finds lines in a different order", "a\nb", "b\na", "b"],
  ["finds a line that occurs once too often", "a\na", "a", "a"],
  ["finds a missing column", "NAME READY\na 1/1", "NAME\na", "NAME READY"],
] as const)
  test(`comparing a page with an output ${what}`, () => {
    assert.equal(missingLine(shown, printed), missing);
  });

test("troubleshooting uses the real names of the Lease and the Deployment", () => {
  const text = readFileSync("docs/use/troubleshoot.md", "utf8");
  const lease = leaseIn("kube-system").split("/").at(-1) ?? "";
  assert.ok(text.includes(`kubectl get lease -n kube-system ${lease}\n`), lease);
  const objects = objectsOf(textOf("base/rendered.yaml"));
  const deployment = objects.find(({ kind }) => kind === "Deployment")?.metadata.name ?? "";
  assert.ok(text.includes(`kubectl logs -n kube-system deploy/${deployment}\n`), deployment);
});

const symptoms = readFileSync("docs/use/troubleshoot.md", "utf8");

test("troubleshooting shows the output of explain for a pod without a credential", async () => {
  const heading = "## A pod is in ImagePullBackOff or ErrImagePull";
  const blocks = pageOf("use/troubleshoot.md").blocksBelow(heading);
  const block = blocks.find(({ body }) => body.includes(" explain pod/"));
  assert.ok(block?.printed);
  const [, , ...argv] = block.body.trim().split(" ");
  const image = "quay.io/acme/app:1";
  const refusal = "unauthorized: access to the requested resource is not authorized";
  const waiting = {
    reason: "ImagePullBackOff",
    message: `Back-off pulling image "${image}": ErrImagePull: failed to pull ${image}: ${refusal}`,
  };
  const cluster = new FakeCluster();
  cluster.objects.set(globalPullSecretPath, object({ status: { registries: [] } }));
  cluster.objects.set("/api/v1/namespaces/team-a/serviceaccounts/default", {});
  cluster.objects.set("/api/v1/namespaces/team-a/pods/web-0", {
    metadata: { name: "web-0", namespace: "team-a", uid: "u1" },
    spec: { nodeName: "node1", containers: [{ name: "app", image }] },
    status: { containerStatuses: [{ name: "app", state: { waiting } }] },
  });
  const { code, out, err } = await call(argv, { cluster });
  assert.deepEqual([code, err], [0, ""]);
  assert.equal(missingLine(block.printed, out), undefined, out);
});

test("troubleshooting has every reason of Ready and Stalled with which status prints no code", () => {
  const section =
    symptoms.split(/^## /m).find((part) => part.startsWith("The Secret is there")) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  const reasons = rows.flatMap((row) => row.split(" | ")[1]?.trim().split(", ") ?? []);
  const coded = new Set<string>();
  for (const [kind, { condition, reason }] of Object.entries(troubles)) {
    if (condition !== "Stalled") continue;
    // The problems of a source have their own codes.
    assert.ok(Object.hasOwn(catalogue, kind) || reason === "SourceRejected", kind);
    coded.add(reason);
  }
  assert.ok(coded.size > 8, String(coded.size));
  const all = [...Object.keys(readyReasons), ...Object.keys(stalledReasons)];
  assert.deepEqual(
    reasons.filter(Boolean).toSorted(),
    all.filter((reason) => !coded.has(reason)).toSorted(),
  );
});

test("troubleshooting has the pauses before a node that refused is asked again", () => {
  const attempt = 100_000;
  const pauses = [0, 600, 90_000].map((refusedFor) => {
    const report = { ...reportOf("Refused", attempt), since: attempt - refusedFor };
    const node = nodeOf("n", { object: objectOf(orderAt(attempt), report) });
    return untilAskedAgain(node, attempt);
  });
  assert.deepEqual(pauses, [600, 1200, 21_600]);
  const [, section = ""] = symptoms.split("## One node does not get the credential");
  const [page = ""] = section.split("\n\n## ");
  assert.match(page, /\b10, 20, 40 minutes[^]*six\s+hours/, page);
  const [, , message] = catalogue.failed;
  for (const text of [page, message]) assert.match(text, /kubectl pull-secret retry/);
});

test("troubleshooting shows where status prints the code of a refusal during a pause", () => {
  const conditions = conditionsOf("person", "SourceRejected", "GPS107");
  const reported = object({ spec: { managementState: "Paused" }, status: { conditions } });
  const screen = { paint: paintFor(false), now: 0 };
  const [line = ""] = statusLines(reported, screen);
  assert.ok(symptoms.includes(`\`${line}\``), line);
});

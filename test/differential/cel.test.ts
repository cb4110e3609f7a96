/**
 * Creates our CRDs and admission policies with the API server's own code as each supported version
 * of Kubernetes would, with only the CEL libraries that this version accepts. See cel/main.go.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { dump } from "js-yaml";
import { roles } from "#tools/install/values-schema.ts";
import { manifests, textOf, type KubeObject } from "#tools/install/yaml.ts";
import { byName, charted, inRole, nameOf } from "../install/kustomize.ts";
import { build, run } from "./oracle.ts";

const minorIn = (text: string, version: RegExp): number => Number(version.exec(text)?.[1]);
const oldest = minorIn(textOf("chart/Chart.yaml"), /^kubeVersion: ">=1\.(\d+)\./m);
const goMod = readFileSync(join(import.meta.dirname, "../go.mod"), "utf8");
const newest = minorIn(goMod, /k8s\.io\/kubernetes v1\.(\d+)\./);
const minors = Array.from({ length: newest - oldest + 1 }, (_, index) => oldest + index);

type Refusal = Readonly<{ object: string; problem: string }>;

/** The objects that an API server of this version refuses. */
async function refusedBy(minor: number, objects: readonly object[]): Promise<readonly Refusal[]> {
  const text = objects.map((object) => dump(object)).join("---\n");
  const lines = await run(await build("cel"), [`1.${minor}`], text);
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Refusal);
}

const kinds = /^(?:CustomResourceDefinition|\w+AdmissionPolicy)$/;

/** Every CRD and every policy of the chart. */
let ours: readonly KubeObject[];

before(async () => {
  const optional = ["admission.enabled=true", "annotated.enabled=true"];
  const more: Readonly<Record<string, readonly string[]>> = {
    Cluster: optional.map((value) => `--set=${value}`),
    Fleet: ["--set=fleet.clusterResourceSet=true"],
  };
  const rendered = await Promise.all(
    roles.map((role) => charted("--include-crds", ...inRole(role), ...(more[role] ?? []))),
  );
  ours = Object.values(byName(rendered.flat().filter(({ kind }) => kinds.test(kind))));
});

for (const minor of minors)
  test(`Kubernetes 1.${minor} accepts every CEL expression of our CRDs and admission policies`, async () => {
    assert.deepEqual(await refusedBy(minor, ours), []);
  });

test("the versions are asked about every CRD and admission policy in the chart's files", async () => {
  const files = globSync("chart/**/*.yaml", { cwd: manifests }).map(textOf);
  const kindsIn = files.flatMap((text) =>
    Array.from(text.matchAll(/^kind: (\w+)$/gm), ([, kind = ""]) => kind),
  );
  const inFiles = kindsIn.filter((kind) => kinds.test(kind));
  assert.deepEqual(ours.map(({ kind }) => kind).toSorted(), inFiles.toSorted());
});

/** A policy and a CRD with one CEL expression. */
function withExpression(name: string, expression: string): readonly KubeObject[] {
  const schema = {
    type: "object",
    "x-kubernetes-validations": [{ rule: expression }],
  };
  const rule = {
    apiGroups: [""],
    apiVersions: ["v1"],
    operations: ["CREATE"],
    resources: ["pods"],
  };
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression }] },
    },
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${name}s.example.com` },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { kind: name, plural: `${name}s` },
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } },
        ],
      },
    },
  ];
}

/** Each minor version that added a CEL library, and an expression that needs the library. */
const expressions: readonly (readonly [minor: number, expression: string])[] = [
  [32, "!format.dns1123Label().validate('a').hasValue()"],
  [33, "[1, 2].all(i, v, v > i)"],
  [34, "isSemver('1.2.3')"],
  [35, "[1, 2].reverse() == [2, 1]"],
];
for (const [first, expression] of expressions)
  test(`only Kubernetes 1.${first} and newer accept ${expression} in a policy and in a CRD`, async () => {
    const objects = withExpression("x", expression);
    for (const minor of minors) {
      const refusals = await refusedBy(minor, objects);
      const names = refusals.map(({ object }) => object);
      assert.deepEqual(names, minor < first ? objects.map(nameOf) : [], `1.${minor}`);
      for (const { problem } of refusals) assert.match(problem, /compilation failed/);
    }
  });

/**
 * Writes test/install/schemas.json: the schemas of Kubernetes 1.31 to 1.36 for the kinds that we
 * install, from the OpenAPI document in each release's Go module. Run this program to add a version
 * or a kind (downloads 1 GB):
 *
 *     node tools/build/run.mjs tools/install/schemas.ts
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const releases = ["1.31.14", "1.32.13", "1.33.13", "1.34.4", "1.35.4", "1.36.3"];

const api = "io.k8s.api.";
const kinds = [
  ...["Deployment"].map((kind) => `${api}apps.v1.${kind}`),
  ...["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"].map(
    (kind) => `${api}rbac.v1.${kind}`,
  ),
  ...["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"].map(
    (kind) => `${api}admissionregistration.v1.${kind}`,
  ),
  `${api}core.v1.ServiceAccount`,
  `${api}policy.v1.PodDisruptionBudget`,
  `${api}networking.v1.NetworkPolicy`,
  `${api}batch.v1.Job`,
  `${api}coordination.v1.Lease`,
  `${api}flowcontrol.v1.FlowSchema`,
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
];

type Schema = Readonly<Record<string, unknown>>;
type Definitions = Readonly<Record<string, Schema>>;

/** The form of these types in JSON. The OpenAPI document describes their form in Go. */
const inJson: Definitions = {
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: ["string", "integer"] },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: ["string", "number"] },
};

function definitionsOf(release: string): Definitions {
  const argv = ["mod", "download", "-json", `k8s.io/kubernetes@v${release}`];
  const { Dir } = JSON.parse(execFileSync("go", argv, { encoding: "utf8" })) as { Dir: string };
  const text = readFileSync(join(Dir, "api/openapi-spec/swagger.json"), "utf8");
  return (JSON.parse(text) as { definitions: Definitions }).definitions;
}

/** Names of the definitions that a schema refers to. */
const refersTo = (schema: Schema): string[] =>
  [...JSON.stringify(schema).matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name = ""]) => name);

/** The kinds and all definitions that they refer to, each as a strict JSON schema. */
function strictSchemas(all: Definitions): Map<string, Schema> {
  const schemas = new Map<string, Schema>();
  const add = (name: string): void => {
    if (schemas.has(name)) return;
    const schema = inJson[name] ?? strict(all[name] ?? {});
    schemas.set(name, schema);
    refersTo(schema).forEach(add);
  };
  kinds.forEach(add);
  return schemas;
}

/** Removes descriptions and extensions, and refuses unknown fields. */
function strict(schema: Schema): Schema {
  const entries = Object.entries(schema).filter(
    ([key]) => key !== "description" && !key.startsWith("x-"),
  );
  const properties = Object.entries((schema["properties"] ?? {}) as Definitions).map(
    ([name, property]) => [name, strict(property)] as const,
  );
  const inner = (key: "items" | "additionalProperties") =>
    typeof schema[key] === "object" && { [key]: strict(schema[key] as Schema) };
  return {
    ...Object.fromEntries(entries),
    ...inner("items"),
    ...inner("additionalProperties"),
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties),
      additionalProperties: false,
    }),
  };
}

/**
 * Writes each different form of a definition once, because most forms are the same in all releases.
 */
function write(): void {
  const forms: string[] = [];
  const releasesOut = releases.map((release) => {
    const numbers = [...strictSchemas(definitionsOf(release))].map(([name, schema]) => {
      const form = JSON.stringify(schema);
      if (!forms.includes(form)) forms.push(form);
      return [name, forms.indexOf(form)] as const;
    });
    const minor = release.replace(/\.\d+$/, "");
    return `${JSON.stringify(minor)}: ${JSON.stringify(Object.fromEntries(numbers))}`;
  });
  const file = join(import.meta.dirname, "../../test/install/schemas.json");
  writeFileSync(
    file,
    `{"kinds": ${JSON.stringify(kinds)},\n"releases": {\n${releasesOut.join(",\n")}},\n` +
      `"forms": [\n${forms.join(",\n")}]}\n`,
  );
}

write();

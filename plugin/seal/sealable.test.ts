/**
 * Checks that a Secret's manifest can be sealed, and that the controller of Sealed Secrets could
 * decrypt it.
 */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { loadDocuments } from "#kube/yaml.ts";
import { open } from "./seal.fixture.ts";
import { sealableFrom } from "./sealable.ts";
import { sealedSecret } from "./sealed-secret.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const certificate = { publicKey, fingerprint: "", until: "" };
const io = { err() {}, documents: async (text: string) => loadDocuments(text) };

/** A typical secret.yaml, with fields that people or kubectl add. */
const secretYaml = `apiVersion: v1
kind: Secret
metadata:
  name: credentials
  namespace: web
  labels: { app: "1" }
  annotations:
    note: "true: yes"
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"PASSWORD":"planted"}}'
type: Opaque
immutable: true
data:
  USER_NAME: ${Buffer.from("robot").toString("base64")}
  PASSWORD: ${Buffer.from("old").toString("base64")}
stringData:
  PASSWORD: planted
  "true": "ü"
`;

type Sealed = Readonly<{
  spec: { encryptedData: Readonly<Record<string, string>>; template: object };
}>;

test("M8: seals each value of a secret.yaml under the Secret's own name, keeps the other fields readable, and leaks no value", async () => {
  const secret = await sealableFrom(Buffer.from(secretYaml), undefined, io);
  const target = { namespace: secret.namespace, name: secret.name };
  const sealed = sealedSecret(secret, certificate, target) as Sealed;
  assert.ok(!JSON.stringify(sealed).includes("planted"));
  const { encryptedData, template } = sealed.spec;
  const opened = Object.entries(encryptedData).map(([key, value]) => [
    key,
    open(value, privateKey, "web/credentials"),
  ]);
  assert.deepEqual(Object.fromEntries(opened), {
    PASSWORD: "planted",
    USER_NAME: "robot",
    true: "ü",
  });
  assert.deepEqual(template, {
    immutable: true,
    metadata: {
      name: "credentials",
      namespace: "web",
      labels: { app: "1" },
      annotations: { note: "true: yes" },
    },
    type: "Opaque",
  });
});

test("M8: --secret renames the manifest's Secret, and its values are bound to the new name", async () => {
  const target = { namespace: "shop", name: "login" };
  const secret = await sealableFrom(Buffer.from(secretYaml), target, io);
  const { encryptedData } = (sealedSecret(secret, certificate, target) as Sealed).spec;
  assert.equal(open(encryptedData["PASSWORD"] ?? "", privateKey, "shop/login"), "planted");
});

test("M8: seals the bytes of base64 that has line breaks, of Unix or of Windows", async () => {
  const value = Buffer.from("robot").toString("base64");
  for (const separator of ["\n", "\r\n"]) {
    const text = JSON.stringify(`${value.slice(0, 4)}${separator}${value.slice(4)}${separator}`);
    const manifest = secretYaml.replace(value, text);
    const { data } = await sealableFrom(Buffer.from(manifest), undefined, io);
    assert.equal(Buffer.from(data["USER_NAME"] ?? "").toString(), "robot", text);
  }
});

test("M8: seals a manifest of 1 MiB, which is the largest that the API server takes", async () => {
  const padding = "#".repeat(1_048_576 - Buffer.byteLength(secretYaml));
  const { name } = await sealableFrom(Buffer.from(secretYaml + padding), undefined, io);
  assert.equal(name, "credentials");
  await assert.rejects(sealableFrom(Buffer.from(`${secretYaml}${padding}#`), undefined, io));
});

test("M8: seals a pull secret that has a field `kind` as a document", async () => {
  for (const field of ['"kind": 5', '"HttpHeaders": {"kind": "Secret"}', '"team": {"kind": "x"}']) {
    const document = Buffer.from(`{"auths": {"a.io": {"auth": "dTpw"}}, ${field}}`);
    const { name, data } = await sealableFrom(document, undefined, io);
    assert.equal(name, "additional-pull-secret", field);
    assert.deepEqual(data, { ".dockerconfigjson": document });
  }
});

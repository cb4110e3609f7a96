import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubernetesObject, V1Secret } from "@kubernetes/client-node";
import fc from "fast-check";
import { keptSecret } from "../transport/excerpt.ts";
import { contentOf, isPlacedBy, sourceContent, ownerOf, placed, type Content } from "./content.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const planted = "planted-9e4d";
const pull = (document: string) => ({
  type: "kubernetes.io/dockerconfigjson",
  data: { ".dockerconfigjson": base64(document) },
});
const auth = base64(`robot:${planted}`);

const table: readonly (readonly [what: string, secret: object | undefined, said: string])[] = [
  ["a pull secret", pull(JSON.stringify({ auths: { "quay.io": { auth } } })), "ok"],
  ["an opaque Secret", { type: "Opaque", data: { a: base64("1") } }, "ok"],
  ["a Secret without a type", { data: {} }, "ok"],
  ["TLS", { type: "kubernetes.io/tls", data: { "tls.crt": "", "tls.key": "" } }, "ok"],
  ["missing", undefined, "SourceMissing GPS431"],
  ["emptied", pull('{"auths":{}}'), "SourceMissing GPS431"],
  ["a bootstrap token", { type: "bootstrap.kubernetes.io/token" }, "SourceRefused GPS433"],
  [
    "a service account token",
    { type: "kubernetes.io/service-account-token" },
    "SourceRefused GPS433",
  ],
  ["not JSON", pull(`{"auths": ${planted}`), "SourceRefused GPS432"],
  ["not base64", pull(`{"auths":{"quay.io":{"auth":"${planted}!"}}}`), "SourceRefused GPS432"],
  ["without a key", { type: "kubernetes.io/dockerconfigjson", data: {} }, "SourceRefused GPS432"],
];
for (const [what, secret, said] of table)
  test(`the source is ${what}: ${said}`, () => {
    const judged = sourceContent(secret, "source");
    const outcome = judged.ok ? "ok" : `${judged.reason} ${judged.message.slice(0, 6)}`;
    assert.equal(outcome, said);
    assert.ok(judged.ok || !judged.message.includes(planted));
  });

test("K7: accepts Secrets of any type except those that give access to one cluster", () => {
  const closed = ["bootstrap.kubernetes.io/token", "kubernetes.io/service-account-token"];
  const types = fc.oneof(fc.constantFrom("Opaque", "kubernetes.io/tls", ...closed), fc.string());
  const data = fc.dictionary(fc.string(), fc.base64String());
  fc.assert(
    fc.property(types, data, (type, data) => {
      const judged = sourceContent({ type, data, metadata: { resourceVersion: "7" } }, "source");
      if (closed.includes(type)) assert.match(judged.ok ? "" : judged.message, /^GPS433\b/);
      else assert.deepEqual(judged, { ok: true, content: contentOf(type, data), version: "7" });
    }),
  );
});

const contents = fc
  .tuple(
    fc.constantFrom("Opaque", "kubernetes.io/tls"),
    fc.dictionary(fc.constantFrom("a", "b", "__proto__", "toString"), fc.constantFrom("", "eA==")),
  )
  .map(([type, data]) => contentOf(type, data));

/** Whether what we keep of a Secret shows this content. */
const has = (secret: KubernetesObject, content: Content) =>
  keptSecret(secret).digest === content.digest;

const meaning = ({ type, data }: Content) =>
  JSON.stringify([type, Object.entries(data).toSorted(([a], [b]) => (a < b ? -1 : 1))]);

test("law: places exactly the content, and recognizes the placed Secret only with its owner's mark", () => {
  const owner = ownerOf("uid", { namespace: "kube-system", name: "one" });
  fc.assert(
    fc.property(contents, contents, (content, other) => {
      const secret = placed(content, owner, { namespace: "kube-system", name: "pull-secret" });
      assert.ok(has(secret, content));
      assert.ok(isPlacedBy(secret, owner));
      assert.ok(!isPlacedBy(secret, ownerOf("other", { namespace: "kube-system", name: "one" })));
      assert.equal(has(secret, other), meaning(content) === meaning(other));
    }),
  );
});

test("law: handles any answer of a cluster, and never recognizes other data as the content", () => {
  const content = contentOf("Opaque", { a: "eA==" });
  const odd = fc.record({ type: fc.anything(), data: fc.anything(), metadata: fc.anything() });
  fc.assert(
    fc.property(odd, (answer) => {
      const secret = answer as V1Secret;
      assert.ok(!has(secret, content));
      assert.ok(!isPlacedBy(secret, "uid/kube-system/one"));
    }),
  );
});

/** Makes a SealedSecret. Only one cluster can decrypt it, and there it becomes a Secret. */
import { encrypt, labelOf, type SealTarget } from "./encrypt.ts";
import type { Certificate } from "./certificate.ts";
import type { Sealable } from "./sealable.ts";

/**
 * The annotations that show a value's scope to the controller of Sealed Secrets. The scope `strict`
 * has no annotation.
 */
const scopeAnnotations = {
  strict: undefined,
  "namespace-wide": "sealedsecrets.bitnami.com/namespace-wide",
  "cluster-wide": "sealedsecrets.bitnami.com/cluster-wide",
} as const;

/**
 * The manifest, as YAML. The sealed values are base64, which needs no quotes. All other text of the
 * Secret is in quotes.
 */
export function sealedSecret(
  secret: Sealable,
  { publicKey }: Certificate,
  target: SealTarget,
): string {
  const annotation = scopeAnnotations[target.scope];
  const scope = annotation === undefined ? {} : { [annotation]: "true" };
  const names = [`name: ${scalar(target.name)}`, `namespace: ${scalar(target.namespace)}`];
  const sealed = Object.entries(secret.data)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${keyOf(key)}: ${encrypt(value, publicKey, labelOf(target))}`);
  return [
    "apiVersion: bitnami.com/v1alpha1",
    "kind: SealedSecret",
    "metadata:",
    ...indented(2, [...names, ...mapOf("annotations", scope)]),
    "spec:",
    "  encryptedData:",
    ...indented(4, sealed),
    "  template:",
    ...(secret.immutable ? ["    immutable: true"] : []),
    "    metadata:",
    ...indented(6, [
      ...names,
      ...mapOf("labels", secret.labels),
      ...mapOf("annotations", { ...secret.annotations, ...scope }),
    ]),
    `    type: ${/^[a-z]+\.[a-z.]+\/[a-z-]+$/.test(secret.type) ? secret.type : JSON.stringify(secret.type)}`,
    "",
  ].join("\n");
}

function mapOf(name: string, values: Readonly<Record<string, string>>): readonly string[] {
  const lines = Object.entries(values).map(
    ([key, value]) => `${annotationKey(key)}: ${JSON.stringify(value)}`,
  );
  return lines.length === 0 ? [] : [`${name}:`, ...indented(2, lines)];
}

const annotationKey = (key: string): string =>
  /^[a-z]+\.[a-z.]+\/[a-z-]+$/.test(key) ? key : JSON.stringify(key);

/** A Secret's key, in quotes unless every YAML reader treats it as text. */
const keyOf = (key: string): string => (/^\.[a-z]+$/.test(key) ? key : JSON.stringify(key));

/**
 * A DNS name, in quotes if YAML could read the name as another type: `1e5` is a number, and `no` is
 * false.
 */
function scalar(name: string): string {
  return /^[a-z]{6}/.test(name) || /^[a-z]+-/.test(name) ? name : JSON.stringify(name);
}

function indented(by: number, lines: readonly string[]): string[] {
  return lines.map((line) => " ".repeat(by) + line);
}

/** A SealedSecret that becomes a pull secret in the one cluster that can open it. */
import { secretKeys, secretType } from "#contract/names.ts";
import { encrypt, labelOf, type Target } from "./encrypt.ts";
import type { Certificate } from "./certificate.ts";

/** Annotations by which the controller knows what a value is bound to; `strict` has none. */
const scopeAnnotations = {
  strict: undefined,
  "namespace-wide": "sealedsecrets.bitnami.com/namespace-wide",
  "cluster-wide": "sealedsecrets.bitnami.com/cluster-wide",
} as const;

/** The manifest, as YAML. Its names are DNS names and its value base64, which need no quotes. */
export function sealedSecret(
  document: Uint8Array,
  { publicKey }: Certificate,
  target: Target,
): string {
  const annotation = scopeAnnotations[target.scope];
  const metadata = [
    `name: ${target.name}`,
    `namespace: ${target.namespace}`,
    ...(annotation === undefined ? [] : ["annotations:", `  ${annotation}: "true"`]),
  ];
  return [
    "apiVersion: bitnami.com/v1alpha1",
    "kind: SealedSecret",
    "metadata:",
    ...indented(2, metadata),
    "spec:",
    "  encryptedData:",
    `    ${secretKeys.document}: ${encrypt(document, publicKey, labelOf(target))}`,
    "  template:",
    "    metadata:",
    ...indented(6, metadata),
    `    type: ${secretType}`,
    "",
  ].join("\n");
}

function indented(by: number, lines: readonly string[]): string[] {
  return lines.map((line) => " ".repeat(by) + line);
}

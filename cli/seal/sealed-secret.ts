/** A SealedSecret that becomes a pull secret in the one cluster that can open it. */
import { secretKeys, secretType } from "#contract/names.ts";
import { encrypt, labelOf, type SealTarget } from "./encrypt.ts";
import type { Certificate } from "./certificate.ts";

/** Annotations by which the controller knows what a value is bound to; `strict` has none. */
const scopeAnnotations = {
  strict: undefined,
  "namespace-wide": "sealedsecrets.bitnami.com/namespace-wide",
  "cluster-wide": "sealedsecrets.bitnami.com/cluster-wide",
} as const;

/** The manifest, as YAML. Its value is base64, which needs no quotes. */
export function sealedSecret(
  document: Uint8Array,
  { publicKey }: Certificate,
  target: SealTarget,
): string {
  const annotation = scopeAnnotations[target.scope];
  const metadata = [
    `name: ${scalar(target.name)}`,
    `namespace: ${scalar(target.namespace)}`,
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

/** A DNS name, in quotes where YAML could read another type: 1e5 is a number, no is false. */
function scalar(name: string): string {
  return /^[a-z]{6}/.test(name) || /^[a-z]+-/.test(name) ? name : JSON.stringify(name);
}

function indented(by: number, lines: readonly string[]): string[] {
  return lines.map((line) => " ".repeat(by) + line);
}

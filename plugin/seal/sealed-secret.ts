/** Makes a SealedSecret. Only one cluster can decrypt it, and there it becomes a Secret. */
import type { Certificate } from "./certificate.ts";
import type { Sealable } from "./sealable.ts";
import { Buffer } from "node:buffer";
import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from "node:crypto";

/**
 * The manifest, as YAML. The sealed values are base64, which needs no quotes. All other text of the
 * Secret is in quotes.
 */
export function sealedSecret(
  secret: Sealable,
  { publicKey }: Certificate,
  target: SealTarget,
): string {
  const names = [`name: ${scalar(target.name)}`, `namespace: ${scalar(target.namespace)}`];
  const sealed = Object.entries(secret.data)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${keyOf(key)}: ${encrypt(value, publicKey, labelOf(target))}`);
  return [
    "apiVersion: bitnami.com/v1alpha1",
    "kind: SealedSecret",
    "metadata:",
    ...indented(2, names),
    "spec:",
    "  encryptedData:",
    ...indented(4, sealed),
    "  template:",
    ...(secret.immutable ? ["    immutable: true"] : []),
    "    metadata:",
    ...indented(6, [
      ...names,
      ...mapOf("labels", secret.labels),
      ...mapOf("annotations", secret.annotations),
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

/** The only Secret in which a sealed value is valid (the scope `strict` of Sealed Secrets). */
export type SealTarget = Readonly<{ namespace: string; name: string }>;

/**
 * The text to which a value is bound. With another text, the controller cannot decrypt the value.
 */
export const labelOf = ({ namespace, name }: SealTarget): string => `${namespace}/${name}`;

/**
 * Base64 of three parts: the length of the wrapped key (2 bytes), the key wrapped by RSA-OAEP with
 * SHA-256, and the value encrypted by AES-256-GCM, with its tag. Each call creates a new key,
 * because the nonce of this format is always zero and must be used only once with a key.
 */
export function encrypt(value: Uint8Array, publicKey: KeyObject, label: string): string {
  const key = randomBytes(32);
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const oaepLabel = Buffer.from(label);
  const wrapped = publicEncrypt({ key: publicKey, padding, oaepHash: "sha256", oaepLabel }, key);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(wrapped.length);
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(12));
  const body = Buffer.concat([cipher.update(value), cipher.final()]);
  return Buffer.concat([length, wrapped, body, cipher.getAuthTag()]).toString("base64");
}

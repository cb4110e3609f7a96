/** Encrypts values so that the controller of Sealed Secrets can decrypt them. */
import { Buffer } from "node:buffer";
import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from "node:crypto";

/**
 * Where a sealed value is valid, in the words of Sealed Secrets: only in a Secret with this
 * namespace and name, only in this namespace, or everywhere.
 */
export type Scope = "strict" | "namespace-wide" | "cluster-wide";

export type SealTarget = Readonly<{ namespace: string; name: string; scope: Scope }>;

/**
 * The text to which a value is bound. With another text, the controller cannot decrypt the value.
 */
export function labelOf({ namespace, name, scope }: SealTarget): string {
  return { strict: `${namespace}/${name}`, "namespace-wide": namespace, "cluster-wide": "" }[scope];
}

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

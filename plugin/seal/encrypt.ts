/** The encryption of Sealed Secrets, as its controller opens it. */
import { Buffer } from "node:buffer";
import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from "node:crypto";

/**
 * What a sealed value is bound to, in Sealed Secrets' own words: its namespace and name, its
 * namespace, or nothing.
 */
export type Scope = "strict" | "namespace-wide" | "cluster-wide";

export type SealTarget = Readonly<{ namespace: string; name: string; scope: Scope }>;

/** The text that a value is bound to: under another one the controller cannot open it. */
export function labelOf({ namespace, name, scope }: SealTarget): string {
  return { strict: `${namespace}/${name}`, "namespace-wide": namespace, "cluster-wide": "" }[scope];
}

/**
 * Base64 of: length of the wrapped key (2 bytes), the key wrapped by RSA-OAEP with SHA-256, and the
 * value by AES-256-GCM with its tag. Each call draws a new key, so that the nonce, which is zero in
 * this format, is used with it once.
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

/** Makes a SealedSecret. Only one cluster can decrypt it, and there it becomes a Secret. */
import type { Certificate } from "./certificate.ts";
import type { Sealable } from "./sealable.ts";
import { Buffer } from "node:buffer";
import { constants, createCipheriv, type KeyObject, publicEncrypt, randomBytes } from "node:crypto";

/** The manifest. Only the values are encrypted. */
export function sealedSecret(
  { data, type, immutable, labels, annotations }: Sealable,
  { publicKey }: Certificate,
  target: SealTarget,
): object {
  const { namespace, name } = target;
  const encryptedData = Object.entries(data)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => [key, encrypt(value, publicKey, labelOf(target))]);
  const metadata = { name, namespace };
  return {
    apiVersion: "bitnami.com/v1alpha1",
    kind: "SealedSecret",
    metadata,
    spec: {
      encryptedData: Object.fromEntries(encryptedData),
      template: {
        ...(immutable && { immutable }),
        metadata: { ...metadata, ...unlessEmpty({ labels }), ...unlessEmpty({ annotations }) },
        type,
      },
    },
  };
}

const unlessEmpty = (fields: Readonly<Record<string, object>>): object =>
  Object.values(fields).some((field) => Object.keys(field).length > 0) ? fields : {};

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

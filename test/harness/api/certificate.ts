/**
 * Fake API server: certificates for 127.0.0.1 and ::1, new for each process. The code writes DER
 * itself, so that no test needs openssl and no key is committed.
 */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

/** In PEM. The server needs key and certificate, its clients only the certificate. */
export type ServerCertificate = Readonly<{ key: string; certificate: string }>;

/** Tags of ASN.1 (X.680) that a certificate uses. */
const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  objectId: 0x06,
  text: 0x0c,
  time: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Object identifiers in DER, without tag and length. */
const ids = {
  /** 1.2.840.10045.4.3.2 */
  ecdsaWithSha256: "2a8648ce3d040302",
  /** 2.5.4.3 */
  commonName: "550403",
  /** 2.5.29.19 */
  basicConstraints: "551d13",
  /** 2.5.29.17 */
  subjectAltName: "551d11",
} as const;

/** One value in DER: tag, length, content. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(content);
  const length =
    bytes.length < 0x80
      ? [bytes.length]
      : bytes.length < 0x100
        ? [0x81, bytes.length]
        : [0x82, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
}

const sequence = (...content: readonly Buffer[]): Buffer => der(tags.sequence, ...content);
const objectId = (id: string): Buffer => der(tags.objectId, Buffer.from(id, "hex"));
const yes = der(tags.boolean, Buffer.from([0xff]));
/** A value that is identified by its position in a structure. */
const numbered = (n: number, content: Buffer): Buffer => der(0xa0 + n, content);
const bits = (content: Buffer): Buffer => der(tags.bits, Buffer.from([0]), content);

/** YYMMDDHHMMSSZ */
const utc = (time: Date): Buffer =>
  der(tags.time, Buffer.from(`${time.toISOString().slice(2, 19).replaceAll(/[-:T]/g, "")}Z`));

const extension = (id: string, critical: boolean, content: Buffer): Buffer =>
  sequence(objectId(id), ...(critical ? [yes] : []), der(tags.octets, content));

/** A certificate that can sign others. */
export type Issued = ServerCertificate & Readonly<{ name: Buffer; signer: KeyObject }>;

/** A self-signed certificate and its key. It is valid from two hours ago until tomorrow. */
export const makeCertificate = (...hosts: readonly string[]): ServerCertificate =>
  issue("fake API server", undefined, hosts);

/**
 * A certificate, signed by `by` or by itself, for an authority that is also a server on 127.0.0.1,
 * ::1 and these IPv4 addresses.
 */
export function issue(commonName: string, by?: Issued, hosts: readonly string[] = []): Issued {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(objectId(ids.ecdsaWithSha256));
  const text = der(tags.text, Buffer.from(commonName));
  const name = sequence(der(tags.set, sequence(objectId(ids.commonName), text)));
  const { name: issuer, signer } = by ?? { name, signer: privateKey };
  const now = Date.now();
  const hours = 3_600_000;
  // The first byte has only seven bits, so that the number is positive.
  const serial = der(tags.integer, Buffer.from([0x40]), randomBytes(8));
  const addresses = [
    ...["127.0.0.1", ...hosts].map((host) => Buffer.from(host.split(".").map(Number))),
    Buffer.from(`${"00".repeat(15)}01`, "hex"),
  ];
  const content = sequence(
    numbered(0, der(tags.integer, Buffer.from([2]))),
    serial,
    algorithm,
    issuer,
    sequence(utc(new Date(now - 2 * hours)), utc(new Date(now + 24 * hours))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    numbered(
      3,
      sequence(
        extension(ids.basicConstraints, true, sequence(yes)),
        extension(
          ids.subjectAltName,
          false,
          sequence(...addresses.map((address) => der(0x87, address))),
        ),
      ),
    ),
  );
  const signed = sequence(content, algorithm, bits(sign("sha256", content, signer)));
  const lines = signed.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
    name,
    signer: privateKey,
  };
}

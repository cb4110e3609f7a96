/** Reads a cluster's public certificate, which the controller of Sealed Secrets serves. */
import { Buffer } from "node:buffer";
import { type KeyObject, X509Certificate } from "node:crypto";
import { Refused } from "../terminal/io.ts";
import type { V1Service } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";

export type Certificate = Readonly<{
  publicKey: KeyObject;
  /** SHA-256 of the certificate, in hexadecimal. */
  fingerprint: string;
  /** When the certificate expires, in RFC 3339. */
  until: string;
}>;

/** Maximum number of bytes of a PEM text. A certificate with a key of 4096 bits has 2 KiB. */
export const longestCertificate = 64 * 1024;

/**
 * Reads the first certificate of a PEM text. `source` names the text in errors. Throws Refused if
 * there is no certificate, if the certificate's key is not an RSA key, which the format requires,
 * or if the certificate has expired: the cluster might then no longer have the private key.
 */
export function readCertificate(pem: Uint8Array, source: string, now: Date): Certificate {
  const refuse = (why: string): never => {
    throw new Refused(`${source}: ${why}; fetch the cluster's certificate again`);
  };
  if (pem.length > longestCertificate) return refuse("is longer than 64 KiB");
  const certificate = parsed(pem) ?? refuse("holds no certificate");
  const { publicKey } = certificate;
  if (publicKey.asymmetricKeyType !== "rsa") return refuse("its key is not RSA");
  if ((publicKey.asymmetricKeyDetails?.modulusLength ?? 0) < 2048)
    return refuse("its key has fewer than 2048 bits");
  const until = new Date(certificate.validTo);
  if (until <= now) return refuse(`was valid until ${until.toISOString()}`);
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  return { publicKey, fingerprint, until: until.toISOString() };
}

/** Accepts only PEM, because the controller serves certificates only as PEM. */
function parsed(pem: Uint8Array): X509Certificate | undefined {
  try {
    const text = Buffer.from(pem).toString("latin1");
    return text.includes("-----BEGIN CERTIFICATE-----") ? new X509Certificate(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The Service of the controller of Sealed Secrets. */
type Controller = Readonly<{ namespace: string; name: string }>;

/** Fetches the PEM text that the controller serves, without checking it. */
export async function fetchCertificate(
  cluster: Cluster,
  { namespace, name }: Controller,
): Promise<Uint8Array> {
  const path = `/api/v1/namespaces/${namespace}/services`;
  const service = await cluster.get<V1Service>(`${path}/${name}`);
  if (service === undefined)
    throw new Refused(
      `service/${name} in ${namespace}: not found; install Sealed Secrets there, or give ` +
        "--controller-namespace and --controller-name",
    );
  const [port] = service.spec?.ports ?? [];
  const proxy = `${path}/http:${name}:${port?.name ?? port?.port ?? ""}/proxy`;
  const pem = await cluster.get<string>(`${proxy}/v1/cert.pem`, { as: "text" });
  if (pem === undefined)
    throw new Refused(
      `service/${name} in ${namespace}: returns no certificate; check that it is Sealed Secrets`,
    );
  return Buffer.from(pem);
}

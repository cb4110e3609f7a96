/**
 * Makes the cluster's only certificate authority and its certificates with openssl, and kubeconfigs
 * from the certificates.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "../run.ts";

export type Authority = Readonly<{
  /** Contains NAME.crt and NAME.key of every signed certificate, and ca.crt. */
  directory: string;
  /** Signs a certificate for client and server use. `names` are its IP addresses and DNS names. */
  sign: (name: string, subject: string, names?: readonly string[]) => Promise<void>;
  /** Writes NAME.kubeconfig with the certificate NAME, all in one file; returns its path. */
  kubeconfig: (name: string, server: string) => string;
}>;

/**
 * Writes NAME.crt and NAME.key into `directory`. If NAME is `ca`, the certificate is self-signed.
 * If not, the CA in `directory` signs it.
 */
async function certify(
  directory: string,
  name: string,
  subject: string,
  extensions: readonly string[],
): Promise<void> {
  const path = (file: string): string => join(directory, file);
  const issuer = name === "ca" ? [] : ["-CA", path("ca.crt"), "-CAkey", path("ca.key")];
  const key = "-x509 -days 365 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes".split(" ");
  const files = ["-keyout", path(`${name}.key`), "-out", path(`${name}.crt`)];
  const addext = extensions.flatMap((extension) => ["-addext", extension]);
  await run(["openssl", "req", ...key, ...files, ...issuer, "-subj", subject, ...addext]);
}

export async function makeAuthority(directory: string): Promise<Authority> {
  const path = (file: string): string => join(directory, file);
  const usage = "keyUsage=critical,keyCertSign,digitalSignature";
  await certify(directory, "ca", "/CN=test-cluster", ["basicConstraints=critical,CA:TRUE", usage]);
  // The key that signs service account tokens.
  await run([
    "openssl",
    "ecparam",
    "-name",
    "prime256v1",
    "-genkey",
    "-noout",
    "-out",
    path("sa.key"),
  ]);
  await run(["openssl", "ec", "-in", path("sa.key"), "-pubout", "-out", path("sa.pub")]);
  return authorityAt(directory);
}

/** The certificate authority that an earlier process made. */
export function authorityAt(directory: string): Authority {
  const path = (file: string): string => join(directory, file);
  const base64 = (file: string): string => readFileSync(path(file)).toString("base64");
  return {
    directory,
    sign: async (name, subject, names = []) => {
      const alternatives = names
        .map((host) => `${/^[\d.]+$/.test(host) ? "IP" : "DNS"}:${host}`)
        .join(",");
      const extensions = [
        "basicConstraints=critical,CA:FALSE",
        "extendedKeyUsage=clientAuth,serverAuth",
      ];
      if (alternatives !== "") extensions.push(`subjectAltName=${alternatives}`);
      await certify(directory, name, subject, extensions);
    },
    kubeconfig: (name, server) => {
      const cluster = { server, "certificate-authority-data": base64("ca.crt") };
      const user = {
        "client-certificate-data": base64(`${name}.crt`),
        "client-key-data": base64(`${name}.key`),
      };
      const file = path(`${name}.kubeconfig`);
      const content = {
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "test", cluster }],
        users: [{ name, user }],
        contexts: [{ name: "test", context: { cluster: "test", user: name } }],
        "current-context": "test",
      };
      writeFileSync(file, JSON.stringify(content, null, 2), { mode: 0o600 });
      return file;
    },
  };
}

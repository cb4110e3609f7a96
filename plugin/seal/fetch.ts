/**
 * Fetches the public certificate of a joined cluster from the controller of Sealed Secrets there,
 * through the API server's proxy.
 */
import { Buffer } from "node:buffer";
import type { V1Service } from "@kubernetes/client-node";
import type { Cluster } from "#kube/client/cluster.ts";
import { Refused } from "../terminal/io.ts";

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

/** A token of a joined cluster: asked of it, and kept as a Secret in the management cluster. */
import { Buffer } from "node:buffer";
import {
  boundName,
  expiresAnnotation,
  issuedAnnotation,
  joinedName,
  tokenKey,
  tokenSeconds,
} from "#contract/joined/names.ts";
import { namespace } from "#contract/names.ts";
import type { Cluster } from "./client/cluster.ts";

type Issued = Readonly<{ token: string; issued: Date; expires: Date }>;

const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;

/**
 * A token of the joined cluster's account, bound to the Secret beside it: it is void as soon as
 * that Secret is deleted. 30 days are asked for; the server may give fewer, and what it says is
 * believed.
 */
export async function requestToken(cluster: Cluster): Promise<Issued> {
  const issued = new Date();
  const reply = await cluster.create<{ status?: { token?: string; expirationTimestamp?: string } }>(
    `${accounts}/${joinedName}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        expirationSeconds: tokenSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name: boundName },
      },
    },
  );
  const { token, expirationTimestamp = "" } = reply.status ?? {};
  const expires = new Date(expirationTimestamp);
  if (typeof token !== "string" || Number.isNaN(expires.getTime()))
    throw new Error("the API server's answer to a TokenRequest holds no token");
  return { token, issued, expires };
}

/** What its Secret here says, without name: the token, and from when until when it is one. */
export function tokenSecret({ token, issued, expires }: Issued) {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: {
      annotations: {
        [issuedAnnotation]: issued.toISOString(),
        [expiresAnnotation]: expires.toISOString(),
      },
    },
    data: { [tokenKey]: Buffer.from(token).toString("base64") },
  };
}

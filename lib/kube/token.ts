/** Tokens of our accounts in other clusters: how they are asked for, and when they are renewed. */
import { Buffer } from "node:buffer";
import {
  boundName,
  expiresAnnotation,
  issuedAnnotation,
  joinedName,
  tokenKey,
  tokenSeconds,
} from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import type { Cluster } from "./client/cluster.ts";

type Issued = Readonly<{ token: string; issued: Date; expires: Date }>;

/** An account, and the Secret beside it that its tokens are bound to. */
type Account = Readonly<{ namespace: string; name: string; bound: string }>;

/** That of a joined cluster. */
const joined: Account = { namespace, name: joinedName, bound: boundName };

/**
 * A token of the account, bound to the Secret beside it: it is void as soon as that Secret is
 * deleted. 30 days are asked for; the server may give fewer, and what it says is believed.
 */
export async function requestToken(cluster: Cluster, account = joined): Promise<Issued> {
  const issued = new Date();
  const reply = await cluster.create<{ status?: { token?: string; expirationTimestamp?: string } }>(
    `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        expirationSeconds: tokenSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Secret", name: account.bound },
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

/** fresh · due: half of its time is over · expired · unknown: its times are not known. */
export type Age = "fresh" | "due" | "expired" | "unknown";

/** The age of a token that is good from `issued` to `expires`, in milliseconds. Pure. */
export function ageOfToken(issued: number, expires: number, now: number): Age {
  if (Number.isNaN(issued) || Number.isNaN(expires)) return "unknown";
  if (now >= expires) return "expired";
  return now >= (issued + expires) / 2 ? "due" : "fresh";
}

/**
 * From when until when a token is good, as it contains it, in milliseconds; NaN where it is not a
 * JSON Web Token. Nothing is verified: the API server that takes it does that. Pure.
 */
export function timesIn(token: string): Readonly<{ issued: number; expires: number }> {
  try {
    const [, payload = ""] = token.split(".");
    const { iat, exp } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
    return { issued: Number(iat) * 1000, expires: Number(exp) * 1000 };
  } catch {
    return { issued: Number.NaN, expires: Number.NaN };
  }
}

type Claims = Readonly<{ iat?: unknown; exp?: unknown }>;

/** Tokens of our accounts in other clusters: how we request them, and when we renew them. */
import { Buffer } from "node:buffer";
import { boundName, joinedName, tokenKey, tokenSeconds } from "#contract/joined.ts";
import { namespace } from "#contract/names.ts";
import type { Cluster } from "./client/cluster.ts";

/** An account, and the Secret beside it to which its tokens are bound. */
type Account = Readonly<{ namespace: string; name: string; bound: string }>;

/** The account of a joined cluster. */
const joined: Account = { namespace, name: joinedName, bound: boundName };

/**
 * A token of the account, bound to the Secret beside it: deleting that Secret voids the token. We
 * request 30 days. The API server can shorten that; the times in the token are the valid ones.
 * Throws if the token states no times, because we could not renew it in time.
 */
export async function requestToken(cluster: Cluster, account = joined): Promise<string> {
  const reply = await cluster.create<{ status?: { token?: unknown } }>(
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
  const { token } = reply.status ?? {};
  if (typeof token !== "string" || ageOfToken(timesIn(token), 0) === "unknown")
    throw new Error("the API server's answer to a TokenRequest has no token that states its times");
  return token;
}

/** A Secret, without its metadata, that stores the token. */
export const tokenSecret = (token: string) => ({
  apiVersion: "v1",
  kind: "Secret",
  type: "Opaque",
  data: { [tokenKey]: Buffer.from(token).toString("base64") },
});

/**
 * fresh · due: half of the token's time is over · expired · unknown: the token's times are unknown.
 */
export type Age = "fresh" | "due" | "expired" | "unknown";

/** The start and end of a token's validity, in milliseconds; NaN: unknown. */
export type TokenTimes = Readonly<{ issued: number; expires: number }>;

/** The age of a token with these times. Pure. */
export function ageOfToken({ issued, expires }: TokenTimes, now: number): Age {
  if (Number.isNaN(issued) || Number.isNaN(expires)) return "unknown";
  if (now >= expires) return "expired";
  return now >= (issued + expires) / 2 ? "due" : "fresh";
}

/**
 * The start and end of a token's validity as the token states them, in milliseconds; NaN if it is
 * not a JSON Web Token. We do not verify the token: the API server that accepts it does that. Pure.
 */
export function timesIn(token: string): TokenTimes {
  try {
    const [, payload = ""] = token.split(".");
    const { iat, exp } = JSON.parse(Buffer.from(payload, "base64url").toString()) as Claims;
    const milliseconds = (time: unknown) => (typeof time === "number" ? time * 1000 : Number.NaN);
    return { issued: milliseconds(iat), expires: milliseconds(exp) };
  } catch {
    return { issued: Number.NaN, expires: Number.NaN };
  }
}

type Claims = Readonly<{ iat?: unknown; exp?: unknown }>;

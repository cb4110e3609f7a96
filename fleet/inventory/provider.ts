/**
 * What a ClusterProfile says of the way to its cluster: where that is, and which Secret has the
 * credential. The two secret readers that the inventory names as reference are served without
 * running them: what they read is read here, as data. Pure.
 */
import { tokenKey } from "#contract/joined.ts";
import { execExtension, type AccessProvider, type ClusterProfile } from "#api/cluster-profile.ts";

/** A Secret in the profile's own namespace. */
export type AccessWay = Readonly<{
  /** A kubeconfig's cluster, of which nothing has been judged. */
  cluster: Readonly<Record<string, unknown>>;
  secret: string;
  key: string;
}> &
  (Readonly<{ holds: "token" }> | Readonly<{ holds: "kubeconfig"; context: string | undefined }>);

/** Why a profile gives no way: a kind of problem, and its detail. */
export type NoWay = Readonly<{ problem: "noProvider" | "provider"; detail: string }>;

/** The first provider of the two that are known, in the profile's order; nothing else is run. */
export function wayOf({ metadata, status }: ClusterProfile): AccessWay | NoWay {
  const all = [...(status?.accessProviders ?? []), ...(status?.credentialProviders ?? [])];
  const known = all.find(({ name }) => Object.hasOwn(readers, name));
  if (known === undefined)
    return { problem: "noProvider", detail: Object.keys(readers).join(" or ") };
  return readers[known.name as keyof typeof readers](known, metadata);
}

type Profile = ClusterProfile["metadata"];

const readers = {
  secretreader(provider: AccessProvider, { name = "" }: Profile): AccessWay | NoWay {
    // Of another name it could be any token of this namespace, for a server of the author's.
    const named = extensionOf(provider)["clusterName"] ?? name;
    if (named !== name) return refused("clusterName is not the profile's own name");
    return { cluster: provider.cluster ?? {}, secret: name, key: tokenKey, holds: "token" };
  },
  "kubeconfig-secretreader"(provider: AccessProvider, { namespace }: Profile): AccessWay | NoWay {
    const { name, key, namespace: where = namespace, context } = extensionOf(provider);
    // The fleet's account may read Secrets by name anywhere: the author of a profile may not.
    if (where !== namespace) return refused("it names another namespace than the profile's");
    if (!isName(name) || !isKey(key)) return refused("it names no Secret and key");
    if (context !== undefined && typeof context !== "string") return refused("context is no text");
    const cluster = provider.cluster ?? {};
    return { cluster, secret: name, key, holds: "kubeconfig", context };
  },
} as const;

const refused = (detail: string): NoWay => ({ problem: "provider", detail });

/** What the profile tells the reader; an own field alone is one. */
function extensionOf({ cluster }: AccessProvider): Readonly<Record<string, unknown>> {
  const all = cluster?.["extensions"];
  const found = (Array.isArray(all) ? all : []).find(
    (one: unknown) => isFields(one) && one["name"] === execExtension,
  ) as Readonly<Record<string, unknown>> | undefined;
  const told = found?.["extension"];
  return isFields(told) ? told : {};
}

const isFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isName = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length <= 253 &&
  /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value);
const isKey = (value: unknown): value is string =>
  typeof value === "string" && /^[-._a-zA-Z0-9]{1,253}$/.test(value);

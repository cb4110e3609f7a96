/**
 * The CredentialProviderConfig that makes a kubelet ask our script, as text; and what a kubelet
 * makes of one that somebody else wrote. Pure.
 */
import { providerName, type ProviderScope, tokenAudience, useAnnotation } from "#contract/names.ts";
import { isObject, type Json, type JsonObject, readJson } from "../json/json.ts";
import { hostOf, identity } from "../registry/registry.ts";

const configVersion = "kubelet.config.k8s.io/v1";
export const providerVersion = "credentialprovider.kubelet.k8s.io/v1";

/** The kubelet compares label by label; eight cover every registry that was ever seen. */
const labels = 8;
const everyHost = Array.from({ length: labels }, (_, more) => ["*", ...stars(more)].join("."));

/** Only for pods whose ServiceAccount asks for it (KEP-4412). */
const annotated = {
  serviceAccountTokenAudience: tokenAudience,
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: [useAnnotation],
} as const;

function stars(count: number): string[] {
  return Array.from({ length: count }, () => "*");
}

/**
 * The rows of `matchImages` that cover these registries: every host without a port, and each
 * `host:port` by a row of its own, since the kubelet compares ports as they are.
 */
export function rowsFor(registries: Iterable<string>): string[] {
  const hosts = [...registries].map((key) => hostOf(identity(key) ?? ""));
  const ported = hosts.filter((host) => /^[^[].*:\d+$/.test(host));
  return [...everyHost, ...[...new Set(ported)].toSorted()];
}

/**
 * The whole file, ending in a newline. Nothing is ever cached: the script is run for each look-up,
 * so that a new answer serves the next pull.
 */
export function providerConfig(registries: Iterable<string>, scope: ProviderScope): string {
  const provider = {
    name: providerName,
    apiVersion: providerVersion,
    matchImages: rowsFor(registries),
    defaultCacheDuration: "0s",
    ...(scope === "Annotated" && { tokenAttributes: annotated }),
  };
  const config = {
    apiVersion: configVersion,
    kind: "CredentialProviderConfig",
    providers: [provider],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

/** `rows`: the provider's `matchImages`. `why`: what keeps it from being what the agent needs. */
export type JudgedProvider =
  | Readonly<{ ok: true; rows: readonly string[] }>
  | Readonly<{ ok: false; why: string }>;

/**
 * Judges a configuration that was installed before us, as strictly as the kubelet, which exits at
 * its start if one field is wrong or unknown. Names fields, never values.
 */
export function judgeConfig(bytes: Uint8Array, scope: ProviderScope): JudgedProvider {
  const read = readJson(bytes);
  if (!read.ok) return no(`it is not JSON: ${read.faults[0]?.path}`);
  const { value } = read;
  if (!isObject(value)) return no("it is not an object");
  const stray = unknownIn(value, ["apiVersion", "kind", "providers"]);
  if (stray !== undefined) return no(stray);
  if (value["apiVersion"] !== configVersion) return no(`apiVersion is not ${configVersion}`);
  if (value["kind"] !== "CredentialProviderConfig")
    return no("kind is not CredentialProviderConfig");
  const { providers } = value;
  const [provider, ...others] = Array.isArray(providers) ? providers : [];
  if (!isObject(provider) || others.length > 0) return no("it has not exactly one provider");
  return judgeProvider(provider, scope);
}

function judgeProvider(provider: JsonObject, scope: ProviderScope): JudgedProvider {
  const known = ["name", "apiVersion", "matchImages", "defaultCacheDuration", "tokenAttributes"];
  const stray = unknownIn(provider, known);
  if (stray !== undefined) return no(`its provider: ${stray}`);
  if (provider["name"] !== providerName) return no(`its provider's name is not ${providerName}`);
  if (provider["apiVersion"] !== providerVersion)
    return no(`its provider's apiVersion is not ${providerVersion}`);
  if (provider["defaultCacheDuration"] !== "0s")
    return no("its provider's defaultCacheDuration is not 0s");
  const wanted = scope === "Annotated" ? annotated : undefined;
  if (!isSame(provider["tokenAttributes"], wanted))
    return no(`its provider's tokenAttributes are not those of scope ${scope}`);
  const rows = provider["matchImages"];
  if (!Array.isArray(rows) || rows.length === 0 || !rows.every((row) => typeof row === "string"))
    return no("its provider has no matchImages");
  return { ok: true, rows };
}

function no(why: string): JudgedProvider {
  return { ok: false, why };
}

function unknownIn(value: JsonObject, known: readonly string[]): string | undefined {
  return Object.keys(value).every((name) => known.includes(name))
    ? undefined
    : `it has a field besides ${known.join(", ")}`;
}

/** Whether a value is this flat object, whatever the order of its keys; or is not there. */
function isSame(value: Json | undefined, wanted: typeof annotated | undefined): boolean {
  if (wanted === undefined) return value === undefined || value === null;
  if (!isObject(value) || Object.keys(value).length !== Object.keys(wanted).length) return false;
  return Object.entries(wanted).every(
    ([name, one]) => JSON.stringify(value[name]) === JSON.stringify(one),
  );
}

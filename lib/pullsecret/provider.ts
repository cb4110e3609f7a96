/**
 * The kubelet's credential provider: checks the CredentialProviderConfig that makes a kubelet run
 * our script, and makes the CredentialProviderResponse that the script prints. Pure.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { providerName, tokenAudience, useAnnotation, type ProviderScope } from "#contract/names.ts";
import { isObject, readJson, type Json, type JsonObject } from "./json/json.ts";
import { hostOf, identity, covers } from "./registry/registry.ts";
import { parseLocation, toBinary } from "./registry/url.ts";
import { readFields } from "./kubelet/kubelet.ts";

export const configVersion = "kubelet.config.k8s.io/v1";
export const providerVersion = "credentialprovider.kubelet.k8s.io/v1";

/**
 * With these fields, the kubelet calls us only for pods of annotated ServiceAccounts (KEP-4412).
 */
export const annotated = {
  serviceAccountTokenAudience: tokenAudience,
  cacheType: "ServiceAccount",
  requireServiceAccount: true,
  requiredServiceAccountAnnotationKeys: [useAnnotation],
} as const;

/** `rows`: the provider's `matchImages`. `why`: why the agent cannot use the provider. */
export type JudgedProvider =
  | Readonly<{ ok: true; rows: readonly string[] }>
  | Readonly<{ ok: false; why: string }>;

/**
 * Checks a configuration that was installed before our agent, as strictly as the kubelet does. The
 * kubelet exits at its start if one field is wrong or unknown. The result names fields, never
 * values.
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
  if (!Array.isArray(providers) || !providers.every(isObject))
    return no("its providers are not a list of objects");
  // Others, such as that of a cloud, may stand beside ours: the kubelet joins all answers.
  const [provider, ...twins] = providers.filter(({ name }) => name === providerName);
  if (provider === undefined || twins.length > 0)
    return no(`it does not have exactly one provider with the name ${providerName}`);
  return judgeProvider(provider, scope);
}

function judgeProvider(provider: JsonObject, scope: ProviderScope): JudgedProvider {
  const fieldNames = [
    "name",
    "apiVersion",
    "matchImages",
    "defaultCacheDuration",
    "tokenAttributes",
  ];
  const stray = unknownIn(provider, fieldNames);
  if (stray !== undefined) return no(`its provider: ${stray}`);
  if (provider["apiVersion"] !== providerVersion)
    return no(`its provider's apiVersion is not ${providerVersion}`);
  if (provider["defaultCacheDuration"] !== "0s")
    return no("its provider's defaultCacheDuration is not 0s");
  const expected = scope === "Annotated" ? annotated : undefined;
  if (!isSame(provider["tokenAttributes"], expected))
    return no(`its provider's tokenAttributes are not those of scope ${scope}`);
  const rows = provider["matchImages"];
  if (!Array.isArray(rows) || rows.length === 0 || !rows.every((row) => typeof row === "string"))
    return no("its provider has no matchImages");
  return { ok: true, rows };
}

function no(why: string): JudgedProvider {
  return { ok: false, why };
}

function unknownIn(value: JsonObject, fieldNames: readonly string[]): string | undefined {
  return Object.keys(value).every((name) => fieldNames.includes(name))
    ? undefined
    : `it has a field besides ${fieldNames.join(", ")}`;
}

/**
 * Whether a value equals the flat object `expected`, whatever the order of its keys. Without
 * `expected`: whether the value is absent.
 */
function isSame(value: Json | undefined, expected: typeof annotated | undefined): boolean {
  if (expected === undefined) return value === undefined || value === null;
  if (!isObject(value) || Object.keys(value).length !== Object.keys(expected).length) return false;
  return Object.entries(expected).every(
    ([name, expectedValue]) => JSON.stringify(value[name]) === JSON.stringify(expectedValue),
  );
}

/** Registry → entry of `auths`. */
export type Entries = ReadonlyMap<string, unknown>;

/**
 * The answer with these entries, with user and password as the kubelet reads them. Without entries
 * the answer contains no credential. The same entries always give the same bytes. `whyUnanswerable`
 * must return undefined for every entry.
 */
export function answerOf(entries: Entries): Buffer {
  const auth = [...entries]
    .map(([key, entry]) => [key, pairOf(entry)] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const answer = {
    apiVersion: providerVersion,
    kind: "CredentialProviderResponse",
    cacheKeyType: "Image",
    cacheDuration: "0s",
    auth: Object.fromEntries(auth),
  };
  return Buffer.from(`${JSON.stringify(answer)}\n`);
}

/** The entries of an answer, as in `auths`. Empty if it is not an answer. */
export function entriesOf(answer: Uint8Array): Entries {
  const read = readJson(answer);
  const auth = read.ok && isObject(read.value) ? read.value["auth"] : undefined;
  if (!isObject(auth)) return new Map();
  return new Map(
    Object.entries(auth).map(([key, entry]) => {
      const { username = "", password = "" } = (isObject(entry) ? entry : {}) as Pair;
      return [key, { auth: Buffer.from(`${username}:${password}`).toString("base64") }];
    }),
  );
}

type Pair = Readonly<{ username?: string; password?: string }>;

/**
 * Why the answer cannot serve the entry. Undefined if it can: a kubelet with these rows of
 * `matchImages` asks for every image of the entry, and the entry's user and password are UTF-8,
 * which JSON requires.
 */
export function whyUnanswerable(
  key: string,
  entry: unknown,
  rows: readonly string[],
): string | undefined {
  const registry = identity(key);
  if (registry === undefined || hostOf(registry).startsWith("["))
    return "kubelets do not run a credential provider for an IPv6 address";
  const read = fieldsOf(entry);
  if (!("password" in read) || !isUtf8(read.username) || !isUtf8(read.password))
    return "user or password is not UTF-8, and the provider can only print text";
  const isCovered = rows.some((row) => {
    const images = imagesOfRow(row);
    return images !== undefined && covers(images, registry);
  });
  return isCovered ? undefined : "no row of matchImages is for this registry";
}

/**
 * The images for which the kubelet runs the provider because of this row; undefined if there are
 * none. Unlike a key of `auths`, a row is taken literally (the kubelet's URLsMatchStr): a scheme
 * makes it useless, `/v1/` is the beginning of a repository's name, and index.docker.io is the host
 * of no image.
 */
function imagesOfRow(row: string): string | undefined {
  const location = parseLocation(toBinary(row));
  if (location === undefined || location.host === "index.docker.io") return undefined;
  return location.path === "/" ? location.host : location.host + location.path;
}

function pairOf(entry: unknown): Readonly<{ username: string; password: string }> {
  const read = fieldsOf(entry);
  if (!("password" in read)) return { username: "", password: "" };
  return { username: read.username.toString(), password: read.password.toString() };
}

function fieldsOf(entry: unknown): ReturnType<typeof readFields> {
  return readFields(typeof entry === "object" && entry !== null ? Object.entries(entry) : []);
}

/** Reads and follows the GlobalPullSecret for commands. */
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretName, additionalSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { Informer } from "#kube/watch/informer.ts";
import { collections, globalPullSecretPath } from "#kube/client/paths.ts";
import { follow } from "#kube/watch/watch.ts";
import { redactKey } from "#pullsecret/problems/keypath.ts";
import { redactTokens } from "#pullsecret/problems/token.ts";
import { Refused, Misuse } from "../terminal/io.ts";
import { ifAllowed } from "./read.ts";
import type { V1Secret } from "@kubernetes/client-node";

const whereFrom =
  "the controller creates it after 30 s; check that manifests/crds is applied and the controller " +
  "runs: kubectl get deployment global-pull-secret-controller -n kube-system";

/** Reads the GlobalPullSecret. Throws Refused if it does not exist. */
export async function readObject(cluster: Cluster): Promise<GlobalPullSecret> {
  const object = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
  if (object === undefined)
    throw new Refused(`globalpullsecret/${globalPullSecretName}: not found; ${whereFrom}`);
  return redactStatus(object);
}

/**
 * Reads the GlobalPullSecret. Undefined if it does not exist, or if the caller is not allowed to
 * read it.
 */
export async function peekObject(cluster: Cluster): Promise<GlobalPullSecret | undefined> {
  const object = await ifAllowed(cluster.get<GlobalPullSecret>(globalPullSecretPath), undefined);
  return object && redactStatus(object);
}

/**
 * Redacts the object's status. Our controller writes no secrets into the status, but an older
 * controller or another client might have written secrets.
 */
function redactStatus(object: GlobalPullSecret): GlobalPullSecret {
  if (object.status === undefined) return object;
  const each = (name: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    return name === "registry" ? redactKey(value) : redactTokens(value);
  };
  return { ...object, status: JSON.parse(JSON.stringify(object.status), each) };
}

type Following<T> = Readonly<{
  /** How many seconds to follow the object. */
  seconds: number;
  signal: AbortSignal;
  /**
   * Called at once and at each change, with the object, or with undefined if it does not exist. The
   * watch ends when this function returns a result other than undefined.
   */
  each: (object: GlobalPullSecret | undefined) => T | undefined;
}>;

/**
 * Follows the object until `each` returns an answer, and resolves to this answer. Resolves to
 * undefined when the time is over or `signal` aborts. Retries while the API server does not answer.
 * Rejects with Refused if the API server does not serve GlobalPullSecrets, and with the ApiError if
 * the API server refuses the request for another reason and a retry cannot help.
 */
export async function followObject<T>(
  cluster: Cluster,
  { seconds, signal, each }: Following<T>,
): Promise<T | undefined> {
  const enough = new AbortController();
  const over = AbortSignal.timeout(seconds * 1000);
  const informer = new Informer();
  let answer: T | undefined;
  let refused: ApiError | undefined;
  await follow({
    cluster,
    target: { collection: collections.globalPullSecrets, name: globalPullSecretName },
    informer,
    hint: () => {
      const { shown } = informer;
      if (typeof shown === "string" || answer !== undefined) return;
      const object = shown.object as GlobalPullSecret | undefined;
      answer = each(object && redactStatus(object));
      if (answer !== undefined) enough.abort();
    },
    failed: (error) => {
      if (!(error instanceof ApiError) || !isFinal(error)) return;
      refused = error;
      enough.abort();
    },
    signal: AbortSignal.any([signal, enough.signal, over]),
  });
  if (refused?.status === 404) throw new Refused(`globalpullsecrets: not served; ${whereFrom}`);
  if (refused !== undefined) throw refused;
  return answer;
}

/**
 * Whether a repeated request would be refused again. After 410 and 429, a repeated request might
 * succeed.
 */
function isFinal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 410 && status !== 429;
}

/** The name of a source and the name of its Secret in kube-system. */
export type SourceSecret = Readonly<{ source: string; secret: string }>;

const additional: SourceSecret = { source: additionalSecretName, secret: additionalSecretName };

/** The Secrets of additional-pull-secret and of the sources in spec.sources. */
export function sourceSecrets(object: GlobalPullSecret | undefined): readonly SourceSecret[] {
  const extra = object?.spec?.sources ?? [];
  return [
    additional,
    ...extra.map(({ name, secretRef }) => ({ source: name, secret: secretRef.name })),
  ];
}

/** The source with this name. Throws Misuse if there is no such source. */
export function sourceSecret(
  object: GlobalPullSecret | undefined,
  name = additionalSecretName,
): SourceSecret {
  const all = sourceSecrets(object);
  const match = all.find(({ source }) => source === name);
  if (match !== undefined) return match;
  const names = all.map(({ source }) => source).join(", ");
  throw new Misuse(`--source: no source of spec.sources has this name; give ${names}`);
}

export const secretPath = (name: string): string => `${collections.secrets}/${name}`;

/**
 * The resourceVersion of the Secret. Undefined if the Secret does not exist. `hidden` if the caller
 * has no right to get it.
 */
export async function versionOf(cluster: Cluster, secret: string): Promise<string | undefined> {
  const object = await ifAllowed(
    cluster.get<V1Secret>(secretPath(secret), { as: "metadata" }),
    "hidden",
  );
  return object === "hidden" ? object : object?.metadata?.resourceVersion;
}

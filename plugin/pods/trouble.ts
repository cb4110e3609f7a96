/** Finds the error that a pod reports about a failed pull, and what to do about it. Pure. */
import type { V1ContainerStatus, V1Pod } from "@kubernetes/client-node";
import { redactTokens } from "#pullsecret/problems/token.ts";

export type PullError = Readonly<{ reason: string; message: string; at?: string }>;

/** The fields of an Event that we request. */
export type PullEvent = Readonly<{
  reason?: string;
  message?: string;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  series?: Readonly<{ lastObservedTime?: string }>;
  involvedObject: Readonly<{ kind?: string; name?: string; uid?: string }>;
}>;

/** The reasons with which a container waits because of its image (kubelet/images/types.go). */
const reasons = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ErrImageNeverPull",
  "InvalidImageName",
  "ImageInspectError",
  "RegistryUnavailable",
  "SignatureValidationFailed",
  "ErrImageNotPresent",
]);

export const hasPullError = (pod: V1Pod): boolean =>
  statusesOf(pod).some(({ state }) => reasons.has(state?.waiting?.reason ?? ""));

const statusesOf = ({ status }: V1Pod): readonly V1ContainerStatus[] => [
  ...(status?.initContainerStatuses ?? []),
  ...(status?.containerStatuses ?? []),
  ...(status?.ephemeralContainerStatuses ?? []),
];

const timeOf = ({ series, lastTimestamp, eventTime }: PullEvent): string =>
  series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? "";

/**
 * The last error of a container's pull. Undefined if the container no longer waits for its image.
 * With the reason ImagePullBackOff, kubelets before 1.32 report the registry's answer only in an
 * Event.
 */
export function pullError(
  pod: V1Pod | undefined,
  container: Readonly<{ name: string; image?: string }>,
  events: readonly PullEvent[],
): PullError | undefined {
  const status = pod && statusesOf(pod).find(({ name }) => name === container.name);
  const { reason = "", message = "" } = status?.state?.waiting ?? {};
  if (!reasons.has(reason)) return undefined;
  const event = events
    .filter(
      (candidate) =>
        candidate.involvedObject.name === pod?.metadata?.name &&
        candidate.reason === "Failed" &&
        candidate.message?.includes(`"${container.image ?? ""}"`),
    )
    .toSorted((a, b) => timeOf(b).localeCompare(timeOf(a)))[0];
  const isWhole = reason !== "ImagePullBackOff" || /Back-off pulling image .*: \S/.test(message);
  const text = isWhole ? message : (event?.message ?? message);
  const at = event && timeOf(event);
  return { reason, message: redactTokens(text), ...(at ? { at } : {}) };
}

/**
 * Kinds of errors, by the words that registries, runtimes and the kubelet use. The first match
 * counts.
 */
const kinds = [
  ["never", /ErrImageNeverPull|never pull/i],
  ["name", /InvalidImageName|invalid reference format|couldn't parse image/i],
  ["rate", /toomanyrequests|rate limit|\b429\b/i],
  [
    "refused",
    /unauthori[sz]ed|authentication required|access denied|denied:|forbidden|no basic auth|insufficient_scope|authorization failed|\b40[13]\b/i,
  ],
  ["trust", /x509|certificate|HTTP response to HTTPS/i],
  ["absent", /not found|manifest unknown|name unknown|does not exist|\b404\b/i],
  [
    "network",
    /no such host|time-?out|dial tcp|refused|no route|reset by peer|EOF|RegistryUnavail/i,
  ],
] as const;

export type ErrorKind = (typeof kinds)[number][0] | "other";

export const kindOf = ({ reason, message }: PullError): ErrorKind =>
  kinds.find(([, words]) => words.test(`${reason}: ${message}`))?.[0] ?? "other";

export type PullFacts = Readonly<{
  host: string;
  namespace: string;
  kind: ErrorKind | undefined;
  /** The sources of the credentials that the kubelet tried: `secret/NAME` or `node`. */
  from: readonly string[];
  /** Secrets that the caller is not allowed to read. */
  notRead: readonly string[];
}>;

/** What to do, by the kind of the error. */
const advice: Readonly<Record<ErrorKind, (facts: PullFacts) => string[]>> = {
  never: () => ["imagePullPolicy is Never: load the image on the node, or allow the pull"],
  name: () => ["correct the image's name: it is not valid, so no registry is contacted"],
  rate: ({ host, from }) => [
    from.length === 0
      ? `${host} limits anonymous pulls; give the nodes a credential: ${addLine(host)}`
      : `${host} limits pulls of this account; wait, or use an account with a higher limit`,
  ],
  trust: ({ host }) => [
    `the node does not trust the certificate of ${host}; add its authority to the container runtime of the node; a credential does not help`,
  ],
  absent: ({ host }) => [
    `${host} has no such image or tag, or does not show it to these credentials; correct the name, or ask for the right to read it`,
  ],
  network: ({ host }) => [
    `the node does not reach ${host}; check DNS, proxy and firewall from that node; a credential does not help`,
  ],
  refused: ({ host, namespace, from, notRead }) => {
    if (from.length === 0 && notRead.length === 0)
      return [
        `nothing here has a credential for ${host}; give the nodes one: ${addLine(host)}`,
        `or name a Secret of namespace ${namespace} in imagePullSecrets`,
      ];
    const secrets = from.filter((source) => source !== "node");
    return [
      ...(from.length === 0 ? [] : [`${host} refused each credential above`]),
      ...(from.includes("node")
        ? ["check the node's credential: kubectl pull-secret check --login"]
        : []),
      ...secrets.map(
        (secret) => `renew ${secret}, or remove it if the node's credential is enough`,
      ),
      ...notRead.map((name) => `check secret/${name}, which you are not allowed to read`),
    ];
  },
  other: () => ["read the message: it is not a known refusal of a credential"],
};

const addLine = (host: string): string =>
  `kubectl pull-secret add ${host} -u USER --password-stdin`;

export const adviceOnPull = (facts: PullFacts): string[] =>
  facts.kind === undefined ? [] : advice[facts.kind](facts);

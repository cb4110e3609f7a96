/**
 * Explains why the kubelet can or cannot pull a pod's images, as an object and as lines for people.
 * Pure.
 */
import { sourceIds, useAnnotation } from "#contract/names.ts";
import { repositoryOf } from "#pullsecret/registry/image.ts";
import { redactTokens } from "#pullsecret/problems/token.ts";
import { isScoped } from "../show/status.ts";
import { explainObject, inPlace, orderOf } from "../show/explanation.ts";
import { columns } from "../terminal/output.ts";
import type { Paint } from "../terminal/paint.ts";
import type { PodFacts } from "./gather.ts";
import { secretTries, type PullSecretState, type Try } from "./keyring.ts";
import { adviceOnPull, kindOf, pullError, type PullError } from "./trouble.ts";

type ImageAnswer = Readonly<{
  container: string;
  image: string;
  /**
   * The credentials, in the order in which the kubelet tries them. If there are none, the kubelet
   * pulls the image without a credential.
   */
  tries: readonly Try[];
  error?: PullError;
  fix: readonly string[];
}>;

/** The answer that `-o json` prints. Its shape is stable. */
export type PodAnswer = Readonly<{
  object: string;
  namespace: string;
  pod?: string;
  node?: string;
  serviceAccount: string;
  imagePullSecrets: Readonly<{
    declaredBy: PodFacts["declaredBy"];
    secrets: readonly PullSecretState[];
  }>;
  images: readonly ImageAnswer[];
  /** Facts that apply to all images. */
  notes: readonly string[];
}>;

export function explainPod(facts: PodFacts): PodAnswer {
  const { object, namespace, pod, spec, secrets, declaredBy } = facts;
  const name = pod?.metadata?.name;
  const containers = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
    // The kubelet pulls the image of a volume with the same credentials.
    ...(spec.volumes ?? []).flatMap(({ name, image }) =>
      image?.reference === undefined ? [] : [{ name: `volume ${name}`, image: image.reference }],
    ),
  ];
  return {
    object,
    namespace,
    ...(name === undefined || object === `pod/${name}` ? {} : { pod: name }),
    ...(spec.nodeName === undefined ? {} : { node: spec.nodeName }),
    serviceAccount: spec.serviceAccountName || "default",
    imagePullSecrets: {
      declaredBy,
      secrets: secrets.map(stateOf),
    },
    images: containers.map((container) => imageOf(facts, container)),
    notes: notesOf(facts),
  };
}

/** A Secret's state, without its content. */
const stateOf = ({ name, state, why }: PullSecretState): PullSecretState =>
  why === undefined ? { name, state } : { name, state, why };

function imageOf(
  facts: PodFacts,
  container: Readonly<{ name: string; image?: string }>,
): ImageAnswer {
  const { secrets, namespace, global, pod, events } = facts;
  const image = container.image ?? "";
  const repository = repositoryOf(image);
  const ofNode = (repository && global && explainObject(global, image)?.tries) || [];
  const serves = servesPod(facts);
  const ofSecrets = repository === undefined ? [] : secretTries(secrets, repository);
  // The original's entries have the lowest numbers, so if we leave out all other sources, the
  // numbers have no gap.
  const served = ofNode.filter(({ source }) => serves || source === sourceIds.original);
  const tries: Try[] = [
    ...ofSecrets,
    ...served.map(({ registry, source, order, place }) => ({
      from: "node",
      registry,
      supplier: `of ${source}${inPlace(place)}`,
      order: ofSecrets.length + order,
    })),
  ];
  const error = pullError(pod, container, events);
  const asked = {
    host: repository?.split("/", 1)[0] ?? "the registry",
    namespace,
    kind: error && kindOf(error),
    from: [...new Set(tries.map(({ from }) => from))],
    notRead: secrets.flatMap(({ name, state }) => (state === "notRead" ? [name] : [])),
  };
  const broken = secrets.filter(({ state }) => state === "broken");
  const fix =
    broken.length > 0
      ? broken.map(({ name }) => `correct secret/${name}: until then no image of the pod is pulled`)
      : adviceOnPull(asked);
  return { container: container.name, image, tries, ...(error ? { error } : {}), fix };
}

/**
 * Whether the pod gets credentials from sources other than the original. With scope Annotated, only
 * pods with an annotated ServiceAccount get them.
 */
function servesPod({ global, account }: PodFacts): boolean {
  if (global === undefined || !isScoped(global) || typeof account === "string") return true;
  return account.metadata?.annotations?.[useAnnotation] !== undefined;
}

function notesOf(facts: PodFacts): string[] {
  const { pod, account, declaredBy, secrets, global, namespace, spec } = facts;
  const lent = typeof account === "string" ? 0 : (account.imagePullSecrets ?? []).length;
  const ofState = (secretState: PullSecretState["state"]) =>
    secrets.filter(({ state }) => state === secretState).map(({ name }) => `secret/${name}`);
  const failure = global?.status?.failures?.find(({ node }) => node === spec.nodeName);
  const [missing, notRead] = [ofState("missing"), ofState("notRead")];
  const notes: readonly (readonly [applies: boolean, note: string])[] = [
    [account === "missing", `there is no ServiceAccount of this name in ${namespace}`],
    [
      account === "notRead",
      "no right to get the ServiceAccount: its imagePullSecrets were not read",
    ],
    [
      pod !== undefined && declaredBy === "nobody" && lent > 0,
      "the ServiceAccount names imagePullSecrets, but this pod was created before: delete the pod, and its successor gets them",
    ],
    [
      pod === undefined && declaredBy === "pod" && lent > 0,
      "the ServiceAccount's imagePullSecrets are not used: the pod names its own",
    ],
    [
      missing.length > 0,
      `${missing.join(", ")}: not found in ${namespace}; create it, or remove it from imagePullSecrets: the kubelet ignores it`,
    ],
    [
      notRead.length > 0,
      `${notRead.join(", ")}: not read, because you have no right to get it; it is tried first`,
    ],
    [
      global === undefined,
      "globalpullsecret/cluster was not found or read: the node's credentials are not known",
    ],
    [
      global !== undefined,
      "other entries in the node's config.json, and other credential providers, are not known here",
    ],
    [
      !servesPod(facts),
      `the ServiceAccount is not annotated ${useAnnotation}: only the original's entries serve`,
    ],
    [
      failure !== undefined,
      `node ${failure?.node} may lack the node's credential: ${redactTokens(failure?.message ?? "")}`,
    ],
  ];
  return notes.flatMap(([applies, note]) => (applies ? [note] : []));
}

const words: Readonly<Record<PullSecretState["state"], string>> = {
  read: "",
  missing: " (not found)",
  ignored: " (ignored: not a pull secret)",
  broken: " (broken: no image is pulled)",
  notRead: " (not read)",
};

/** `ages` converts a time into an age. */
export function podLines(answer: PodAnswer, paint: Paint, ages: (at: string) => string): string[] {
  const { object, namespace, pod, node, serviceAccount, imagePullSecrets, images, notes } = answer;
  const { declaredBy, secrets } = imagePullSecrets;
  const where = [
    ...(pod === undefined ? [] : [`pod/${pod}`]),
    ...(node === undefined ? [] : [`node ${node}`]),
    `ServiceAccount ${serviceAccount}`,
  ];
  const of = { pod: "of the pod", serviceAccount: "of the ServiceAccount", nobody: "" }[declaredBy];
  const listed = secrets.map(({ name, state }) => `${name}${words[state]}`).join(", ") || "none";
  return [
    paint.strong(`${object} in ${namespace} (${where.join(", ")})`),
    `imagePullSecrets ${of}${of === "" ? "" : ": "}${listed}`,
    ...secrets.flatMap(({ state, why }) => (state === "broken" ? [paint.bad(`  ${why}`)] : [])),
    ...images.flatMap((image) => imageLines(image, paint, ages)),
    ...(notes.length === 0 ? [] : ["Notes", ...notes.map((note) => `  ${note}`)]),
  ];
}

function imageLines(
  { container, image, tries, error, fix }: ImageAnswer,
  paint: Paint,
  ages: (at: string) => string,
): string[] {
  const rows = tries.map(({ from, registry, supplier, order }) => [
    String(order),
    from,
    registry,
    supplier,
  ]);
  const how = rows.length === 0 ? "without a credential" : orderOf(tries);
  const reported =
    error === undefined
      ? []
      : [
          paint.bad(
            `  ${error.reason}${error.at === undefined ? "" : `, ${ages(error.at)} ago`}: ${error.message}`,
          ),
        ];
  return [
    "",
    `${paint.strong(container)}: ${image} is pulled ${how}`,
    ...columns(rows),
    ...reported,
    ...fix.map((step) => paint.good(`  fix: ${step}`)),
  ];
}

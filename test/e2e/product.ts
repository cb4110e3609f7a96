/**
 * Uses the product as an administrator does: installs it with kubectl, writes one Secret, and reads
 * its status with kubectl.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import * as names from "#contract/names.ts";
import { until, type WaitOptions } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { buildImage } from "../cluster/kit/image.ts";
import { objectOf, type Settings } from "../controller/steer.ts";
import { addedBy } from "../install/kustomize.ts";
import { boundsOf, imagesOf } from "../install/overlay.ts";

const manifests = join(import.meta.dirname, "../../manifests");

type Options = Readonly<{
  args?: readonly string[];
  /** Values of the chart, such as annotated.enabled=true, whose objects are installed as well. */
  values?: readonly string[];
  settings?: Settings;
  /** The image. By default it is built from dist/. */
  image?: string;
  /** Secrets of kube-system with which kubelets pull the controller's image. */
  imagePullSecrets?: readonly string[];
}>;

/**
 * Writes GlobalPullSecret's spec with kubectl, once its CRD is served. Uses server-side apply,
 * because the controller might create the object at the same instant.
 */
export async function steerProduct(cluster: Cluster, settings: Settings): Promise<void> {
  await cluster.untilServed("globalpullsecrets.globalpullsecret.io");
  const file = join(cluster.directory, "globalpullsecret.json");
  writeFileSync(file, JSON.stringify(objectOf(settings)));
  await cluster.kubectl("apply", "--server-side", "--field-manager=test", "-f", file);
}

/**
 * Builds the image from dist/, pushes it to the registry without a password, applies manifests/
 * with this image and waits until the controller is available. `args` are added to the controller's
 * arguments. `settings` is the spec of GlobalPullSecret, or only the value of maxUnavailable.
 */
export async function installProduct(
  cluster: Cluster,
  { args = [], values = [], settings = {}, ...options }: Options = {},
): Promise<void> {
  const image = options.image ?? (await buildImage(cluster));
  const overlay = join(cluster.directory, "overlay");
  mkdirSync(overlay, { recursive: true });
  const pod = "/spec/template/spec";
  const secrets = options.imagePullSecrets?.map((name) => ({ name }));
  const patch = [
    ...args.map((value) => ({ op: "add", path: `${pod}/containers/0/args/-`, value })),
    ...(secrets ? [{ op: "add", path: `${pod}/imagePullSecrets`, value: secrets }] : []),
  ];
  const kustomization = {
    resources: [relative(overlay, manifests)],
    images: imagesOf(image),
    patches: [{ target: { kind: "Deployment" }, patch: JSON.stringify(patch) }, ...boundsOf(args)],
  };
  writeFileSync(join(overlay, "kustomization.yaml"), JSON.stringify(kustomization)); // JSON is YAML
  await cluster.kubectl("apply", "-k", overlay);
  if (values.length > 0) await cluster.apply(...(await addedBy(...values)));
  await steerProduct(cluster, settings);
  await cluster.kubectl(
    "rollout",
    "status",
    "deployment/global-pull-secret-controller",
    "-n",
    names.namespace,
    "--timeout=120s",
  );
}

/** A pull secret's document with one entry, whose key is this path below the private registry. */
export function documentOf({ registry }: Cluster, ...places: string[]): string {
  const auth = registry.auth("additional");
  const entries = places.map((place) => [`${registry.host}/${place}`, auth] as const);
  return JSON.stringify({ auths: Object.fromEntries(entries) });
}

export async function writeAdditional(cluster: Cluster, document: string): Promise<void> {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: names.additionalSecretName, namespace: names.namespace },
    type: names.secretType,
    data: { [names.secretKeys.document]: Buffer.from(document).toString("base64") },
  });
}

export async function deleteAdditional(cluster: Cluster): Promise<void> {
  await cluster.kubectl("delete", "secret", names.additionalSecretName, "-n", names.namespace);
}

/** Waits until every node has the published content. Returns the message of condition Ready. */
export async function rolledOut(cluster: Cluster): Promise<string> {
  const look = async () =>
    (await cluster.get<GlobalPullSecret>("globalpullsecret", names.globalPullSecretName))?.status;
  return await until(
    "the published content is in force",
    async () => {
      const status = await look();
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      const { updated, desired } = status?.nodes ?? {};
      const isInForce = status?.revision?.inForce === (await revision(cluster));
      return isInForce && updated === desired && ready?.status === "True" && ready.message;
    },
    { timeout: 120_000, seen: look },
  );
}

/**
 * The revision in global-pull-secret. Undefined if this Secret does not exist, or has no revision
 * because it is not ours.
 */
export async function revision(cluster: Cluster): Promise<number | undefined> {
  const secret = await cluster.get<{ data: Record<string, string> }>(
    "secret",
    names.globalSecretName,
    "-n",
    names.namespace,
  );
  const text = secret?.data[names.secretKeys.revision];
  return text === undefined ? undefined : Number(Buffer.from(text, "base64").toString());
}

type DaemonSet = { status: { desiredNumberScheduled: number; numberReady: number } };

/**
 * Waits until content newer than revision `before` is published and in force, every node has it,
 * and every node's agent runs. Returns its revision.
 */
export async function untilServed(cluster: Cluster, before = 0): Promise<number> {
  const look = async () =>
    await Promise.all([
      revision(cluster),
      cluster.get<GlobalPullSecret>("globalpullsecret", names.globalPullSecretName),
      cluster.get<DaemonSet>("daemonset", names.agentName, "-n", names.namespace),
    ]);
  return await until(
    `every node has content newer than revision ${before}`,
    async () => {
      const [published = 0, object, daemonSet] = await look();
      const { desiredNumberScheduled, numberReady } = daemonSet?.status ?? {};
      const { revision: revisions, nodes } = object?.status ?? {};
      const isEverywhere = revisions?.inForce === published && nodes?.updated === nodes?.desired;
      const isRunning = desiredNumberScheduled === numberReady;
      return published > before && isEverywhere && isRunning && published;
    },
    { timeout: 120_000, seen: look },
  );
}

/** Waits until a removal is over: all objects that the controller has created are deleted. */
export async function untilRemoved(cluster: Cluster): Promise<void> {
  await until(
    "none of our objects is left in the cluster",
    async () => (await ourObjects(cluster)).length === 0,
    {
      timeout: 120_000,
      seen: () => ourObjects(cluster),
    },
  );
}

/** kind/name of every object that exists only while a pull secret is in force. */
export async function ourObjects(cluster: Cluster): Promise<string[]> {
  const its = ["-n", names.namespace];
  const kinds = ["daemonset", "serviceaccount", "role", "rolebinding"];
  const ours = [
    ...kinds.map((kind) => [kind, names.agentName] as const),
    ["secret", names.globalSecretName],
    ["secret", names.stateSecretName],
  ] as const;
  type Objects = { items: { metadata: { name: string } }[] };
  const pods = cluster.get<Objects>("pods", ...its, "-l", `name=${names.agentName}`);
  const nodes = cluster.get<Objects>("nodepullsecrets", ...its);
  const objects = await Promise.all(
    ours.map(async ([kind, name]) =>
      (await cluster.get(kind, name, ...its)) === undefined ? [] : [`${kind}/${name}`],
    ),
  );
  const agents = (await pods)?.items ?? [];
  const nodeObjects = (await nodes)?.items ?? [];
  return [
    ...objects.flat(),
    ...agents.map(({ metadata }) => `pod/${metadata.name}`),
    ...nodeObjects.map(({ metadata }) => `nodepullsecret/${metadata.name}`),
  ];
}

export type Event = {
  type: string;
  reason: string;
  message: string;
  involvedObject: { kind: string; name: string };
};

/** Events on additional-pull-secret with this reason. */
export async function events(cluster: Cluster, reason?: string): Promise<Event[]> {
  const list = await cluster.get<{ items: Event[] }>("events", "-n", names.namespace);
  return (list?.items ?? []).filter(
    ({ involvedObject, reason: its }) =>
      involvedObject.name === names.additionalSecretName &&
      (reason === undefined || its === reason),
  );
}

export async function untilEvent(
  cluster: Cluster,
  reason: string,
  message: RegExp,
  limits: Pick<WaitOptions, "timeout"> = {},
): Promise<Event> {
  return await until(
    `an Event ${reason} contains ${message}`,
    async () => (await events(cluster, reason)).find((event) => message.test(event.message)),
    { ...limits, seen: () => events(cluster) },
  );
}

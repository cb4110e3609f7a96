/**
 * A dry run of four objects that an installation creates in kube-system. The API server runs its
 * admission as for a real write (quotas, Pod Security, policies, webhooks), and stores nothing.
 */
import type { V1DaemonSet, V1Pod, V1Secret, V1ServiceAccount } from "@kubernetes/client-node";
import { agentName, globalSecretName, namespace, secretType } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import { ownerLabels, pluginManager as manager } from "#kube/client/ownership.ts";
import { collections } from "#kube/client/paths.ts";
import agents from "./agents.json" with { type: "json" };

/** What an installer sets. */
export type Settings = Readonly<{
  /** Undefined: unknown, so a policy about images can refuse our default name. */
  image: string | undefined;
  mode: "Restart" | "Reread";
  /** The controller's flags that are not the default. */
  flags: Readonly<Record<string, string>>;
}>;

/** `unknown`: neither; the reason says why. */
type Trial = Readonly<{ kind: string }> &
  (Readonly<{ result: "accepted" }> | Readonly<{ result: "refused" | "unknown"; reason: string }>);

export type DryRun = readonly Trial[];

type Created = V1Secret | V1ServiceAccount | V1DaemonSet | V1Pod;

/** Path → the object to create there, with the names and labels of the real one. */
function objectsFor(settings: Settings): Readonly<Record<string, Created>> {
  const flags = { ...agents.flags, ...settings.flags };
  const values: Readonly<Record<string, string>> = {
    IMAGE: settings.image ?? "global-pull-secret",
    "KUBELET-DIRECTORY": flags.kubeletDirectory,
    "SELINUX-TYPE": flags.selinuxType,
  };
  const text = JSON.stringify(agents.daemonSets[settings.mode]);
  const daemonSet = JSON.parse(text, (_, value: unknown) =>
    typeof value === "string" ? (values[value] ?? value) : value,
  ) as V1DaemonSet & Required<Pick<V1DaemonSet, "spec">>;
  const { metadata, spec } = daemonSet.spec.template;
  // The agents' account does not exist yet, and the API server refuses a pod without its account.
  const podSpec = { ...spec, containers: spec?.containers ?? [], serviceAccountName: "default" };
  const pod = `${agentName}-dryrun`;
  return {
    [`${collections.secrets}/${globalSecretName}`]: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: globalSecretName, namespace, labels: { ...ownerLabels } },
      type: secretType,
      stringData: { ".dockerconfigjson": '{"auths":{}}' },
    },
    [`${collections.serviceAccounts}/${agentName}`]: agents.serviceAccount,
    [`${collections.daemonSets}/${agentName}`]: daemonSet,
    [`${collections.pods}/${pod}`]: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, name: pod, namespace },
      spec: podSpec,
    },
  };
}

export async function dryRun(cluster: Cluster, settings: Settings): Promise<DryRun> {
  const objects = Object.entries(objectsFor(settings));
  return Promise.all(
    objects.map(async ([path, object]): Promise<Trial> => {
      const { kind = "" } = object;
      const metadata = { ...object.metadata, resourceVersion: newborn };
      const options = { manager, force: false, dryRun: true, isPublic: true };
      try {
        await cluster.apply(path, { ...object, metadata }, options);
        return { kind, result: "accepted" };
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return Object.assign({ kind }, judgementOf(error, kind, settings));
      }
    }),
  );
}

/** Refusals by the API server itself, which looks at no image. */
const ofServer = /violates PodSecurity|exceeded quota/;

type Judgement = Readonly<{ result: "refused" | "unknown"; reason: string }>;

/** Only a denial, or an answer that the object itself is wrong, refuses an installation. */
function judgementOf(error: ApiError, kind: string, { image }: Settings): Judgement {
  const { status, isDenial, detail = `${status} ${error.reason}` } = error;
  const lacksRight = /User "[^"]*" cannot \w+ resource/.test(detail);
  const isRefusal = isDenial || (status === 403 && !lacksRight) || [400, 422].includes(status);
  if (status === 409 && !isDenial) return { result: "unknown", reason: "it exists already" };
  const hasImage = kind === "DaemonSet" || kind === "Pod";
  if (isRefusal && hasImage && image === undefined && !ofServer.test(detail))
    return { result: "unknown", reason: `if this is about the image, give --image: ${detail}` };
  return { result: isRefusal ? "refused" : "unknown", reason: detail };
}

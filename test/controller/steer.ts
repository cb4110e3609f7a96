/** Writes the spec of the object GlobalPullSecret and reads its status. */
import type {
  GlobalPullSecret,
  GlobalPullSecretSpec,
  GlobalPullSecretStatus,
  StatusCondition,
} from "#api/global-pull-secret.ts";
import type { Replacing as Api } from "#kube/client/cluster.ts";
import { until } from "../cluster/await.ts";
import type { Cluster } from "../cluster/cluster.ts";

const gpsPath = "/apis/globalpullsecret.io/v1alpha1/globalpullsecrets/cluster";

type On = Readonly<{ api: Api; cluster: Pick<Cluster, "kubectl"> }>;

/** A whole spec, or only the value of `rollout.maxUnavailable`. */
export type Settings = GlobalPullSecretSpec | number | string;

/**
 * The spec with a short probation, and without a grace period, because most tests end with a
 * removal.
 */
function specOf(settings: Settings): GlobalPullSecretSpec {
  const spec = typeof settings === "object" ? settings : { rollout: { maxUnavailable: settings } };
  return {
    ...spec,
    rollout: { probation: "3s", ...spec.rollout },
    withdrawal: { grace: "0s", ...spec.withdrawal },
  };
}

export const objectOf = (settings: Settings) => ({
  apiVersion: "globalpullsecret.io/v1alpha1",
  kind: "GlobalPullSecret",
  metadata: { name: "cluster" },
  spec: specOf(settings),
});

/** Applies the whole spec with a field manager of its own, as a GitOps tool would. */
const apply = ({ api }: Pick<On, "api">, settings: Settings): Promise<GlobalPullSecret> =>
  api.apply(gpsPath, objectOf(settings), { manager: "test", force: true });

/**
 * Applies the spec. The API server serves a new CRD only a moment after it has accepted the CRD.
 */
export async function steer(on: On, settings: Settings = {}): Promise<GlobalPullSecret> {
  return until("the spec is accepted", () => apply(on, settings));
}

/**
 * Changes the CRD to allow deadlines of seconds, so that tests do not have to wait for minutes.
 */
export async function allowSeconds({ cluster, api }: On): Promise<void> {
  const withdrawal =
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/withdrawal/properties";
  const rules = ["deadline", "forgetAfter"].map((field) => ({
    op: "remove",
    path: `${withdrawal}/${field}/x-kubernetes-validations`,
  }));
  const spec = { withdrawal: { deadline: "5s", forgetAfter: "5s" } };
  const taken = () =>
    apply({ api }, spec).then(
      () => true,
      () => false,
    );
  if (await taken()) return;
  const crd = ["crd", "globalpullsecrets.globalpullsecret.io"];
  await cluster.kubectl("patch", ...crd, "--type=json", "-p", JSON.stringify(rules));
  await until("deadlines of seconds are accepted", taken);
}

export async function statusOf({ api }: On): Promise<GlobalPullSecretStatus> {
  return (await api.get<GlobalPullSecret>(gpsPath))?.status ?? {};
}

export async function condition(on: On, type: string): Promise<StatusCondition | undefined> {
  return (await statusOf(on)).conditions?.find((candidate) => candidate.type === type);
}

/** Waits until the condition has this status and, if `reason` is given, this reason. */
export async function untilCondition(
  on: On,
  type: string,
  status: StatusCondition["status"],
  reason?: string,
  timeout = 60_000,
): Promise<StatusCondition> {
  const look = () => condition(on, type);
  return until(
    `${type} is ${status} ${reason ?? ""}`,
    async () => {
      const current = await look();
      const fits =
        current?.status === status && (reason === undefined || current.reason === reason);
      return fits ? current : undefined;
    },
    { timeout, seen: look },
  );
}

/** Waits until status counts every agent as available, which takes minReadySeconds. */
export async function untilAvailable(on: On): Promise<void> {
  const counts = async () => (await statusOf(on)).nodes;
  await until(
    "status counts every agent as available",
    async () => {
      const { desired = 0, available } = (await counts()) ?? {};
      return desired > 0 && available === desired;
    },
    { seen: counts },
  );
}

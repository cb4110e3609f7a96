/**
 * Reads the one GlobalPullSecret for each run. The installer creates this object. If it is missing
 * for 30 s, the controller creates it with the policy in force. The controller writes the spec of
 * no other object, so a field that a user removes stays removed.
 */
import type { Logger } from "pino";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import type { Again } from "#runtime/loop.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import type { V1Secret } from "@kubernetes/client-node";
import {
  inForce,
  readAccepted,
  type AcceptedSpec,
  type InForce,
} from "./policy/policy-in-force.ts";
import type { Installed } from "./policy/policy.ts";
import { readState } from "./objects/state.ts";

/** The policy in force for one run, and the object that declares it, if there is one. */
export type PolicyReading = InForce &
  Readonly<{
    object: GlobalPullSecret | undefined;
    /** When to read a missing object again. */
    again: Again | undefined;
  }>;

type Options = Readonly<{
  /** Reads through informers. */
  cluster: Cluster;
  installed: Installed;
  log: Pick<Logger, "warn">;
  /** A clock that never goes back, in seconds. */
  seconds: () => number;
}>;

/**
 * Seconds for which the object must be missing before the controller creates it, and between two
 * attempts. Without this time, the controller would create the object before an installer does.
 */
const missingSeconds = 30;

/**
 * Reads the policy. While the object does not exist or cannot be read, the policy stays the same.
 * If no policy is known, a missing object or CRD means the defaults, but an object that cannot be
 * read can be paused or withdrawn. So then the read rejects.
 */
export function policyReader({ cluster, installed, log, seconds }: Options) {
  let last: InForce | undefined;
  let missingSince: number | undefined;

  async function read(): Promise<PolicyReading> {
    const accepted = last === undefined ? await remembered() : last.accepted;
    const object = (await present(accepted)) ?? (await createdWhenDue(accepted));
    last = inForce(installed, object, accepted);
    const again =
      missingSince === undefined
        ? undefined
        : { seconds: missingSince + missingSeconds - seconds() };
    return { ...last, object, again };
  }

  async function present(
    accepted: AcceptedSpec | undefined,
  ): Promise<GlobalPullSecret | undefined> {
    try {
      const object = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
      missingSince = object === undefined ? (missingSince ?? seconds()) : undefined;
      return object;
    } catch (error) {
      // A 404 means that the CRD is missing, too. After another error we do not know whether the
      // object exists.
      const isMissing = error instanceof ApiError && error.status === 404;
      missingSince = isMissing ? (missingSince ?? seconds()) : undefined;
      if (!isMissing && accepted === undefined) throw error;
      return undefined;
    }
  }

  /**
   * Creates the object when it has been missing for long enough, with the policy in force. The
   * API server's defaults could restart every kubelet, or end a pause or a withdrawal.
   */
  async function createdWhenDue(
    accepted: AcceptedSpec | undefined,
  ): Promise<GlobalPullSecret | undefined> {
    if (missingSince === undefined || seconds() - missingSince < missingSeconds) return undefined;
    missingSince = seconds();
    try {
      const object = await cluster.apply<GlobalPullSecret>(
        globalPullSecretPath,
        {
          apiVersion: "globalpullsecret.io/v1alpha1",
          kind: "GlobalPullSecret",
          metadata: { name: globalPullSecretName, resourceVersion: newborn },
          ...(accepted && { spec: accepted.spec }),
        },
        { manager: fieldManager, force: false },
      );
      missingSince = undefined;
      return object;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // 404: the CRD is missing, which the object's watch reports. 409: another client created the
      // object first, and the watch shows it.
      const isExpected = [404, 409].includes(error.status) && !error.isDenial;
      if (!isExpected)
        log.warn({ error: error.message }, "GlobalPullSecret cluster could not be created");
      return undefined;
    }
  }

  async function remembered() {
    const state = await cluster.get<V1Secret>(owned.state);
    return readAccepted(installed, readState(state));
  }

  return { read };
}

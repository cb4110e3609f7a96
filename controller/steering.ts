/**
 * The one GlobalPullSecret: read for each run, and made where there is none. Its spec is never
 * written: who declares it in Git finds it as declared, also without the fields that he took out.
 */
import type { Logger } from "pino";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/api-error.ts";
import { newborn, type Cluster } from "#kube/client.ts";
import { fieldManager } from "#kube/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/paths.ts";
import type { V1Secret } from "@kubernetes/client-node";
import { inForce, readAccepted, type Declared, type InForce } from "./policy/in-force.ts";
import type { Installed } from "./policy/policy.ts";
import { readState } from "./objects/state.ts";

/** What is in force for one run, and the object that says so; undefined where there is none. */
export type Steering = InForce & Readonly<{ object: GlobalPullSecret | undefined }>;

type Options = Readonly<{
  /** Reads through informers. */
  cluster: Cluster;
  installed: Installed;
  log: Pick<Logger, "warn">;
  now: () => Date;
}>;

/**
 * Seconds until an object that can be neither read nor made is asked for again: its watch tells
 * sooner when there is one.
 */
const pauseSeconds = 30;

/** Reads policy. Never rejects: what cannot be read leaves it as it was. */
export function steeringOf({ cluster, installed, log, now }: Options) {
  let last: InForce | undefined;
  let pausedUntil = 0;

  async function declared(): Promise<Declared> {
    if (now().getTime() < pausedUntil) return "absent";
    try {
      return (await cluster.get<GlobalPullSecret>(globalPullSecretPath)) ?? (await made());
    } catch (error) {
      return error instanceof ApiError && error.status === 404 ? made() : "unreadable";
    }
  }

  /** Metadata only, and only where none is: the API server fills in the defaults. */
  async function made(): Promise<Declared> {
    const metadata = { name: globalPullSecretName, resourceVersion: newborn };
    const object = {
      apiVersion: "globalpullsecret.io/v1alpha1",
      kind: "GlobalPullSecret",
      metadata,
    };
    try {
      const how = { manager: fieldManager, force: false };
      return await cluster.apply<GlobalPullSecret>(globalPullSecretPath, object, how);
    } catch (error) {
      // 409: somebody else was faster, which its watch tells. 404: it is not defined here.
      if (!(error instanceof ApiError) || error.status === 409) return "absent";
      pausedUntil = now().getTime() + pauseSeconds * 1000;
      if (error.status !== 404)
        log.warn({ error: error.message }, "GlobalPullSecret cluster could not be made");
      return "absent";
    }
  }

  return {
    async read(): Promise<Steering> {
      const found = await declared();
      const accepted = last === undefined ? await remembered() : last.accepted;
      last = inForce(installed, found, accepted);
      return { ...last, object: typeof found === "string" ? undefined : found };
    },
    /** Its watch has told of something. */
    hint() {
      pausedUntil = 0;
    },
  };

  async function remembered() {
    const state = await cluster.get<V1Secret>(owned.state).catch(() => undefined);
    return readAccepted(installed, readState(state).policy);
  }
}

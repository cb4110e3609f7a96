/**
 * The one GlobalPullSecret: read for each run, and made where there is none. Its spec is never
 * written: who declares it in Git finds it as declared, also without the fields that he took out.
 */
import type { Logger } from "pino";
import type { GlobalPullSecret } from "#api/global-pull-secret.ts";
import { globalPullSecretName } from "#contract/names.ts";
import { ApiError } from "#kube/client/api-error.ts";
import { newborn, type Cluster } from "#kube/client/cluster.ts";
import type { Again } from "#kube/loop.ts";
import { fieldManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import type { V1Secret } from "@kubernetes/client-node";
import {
  inForce,
  readAccepted,
  type Declared,
  type InForce,
} from "#controller/policy/spec/in-force.ts";
import type { Installed } from "./policy/policy.ts";
import { readState } from "./objects/state.ts";

/** What is in force for one run, and the object that says so; undefined where there is none. */
export type Steering = InForce &
  Readonly<{
    object: GlobalPullSecret | undefined;
    /** When to look again for an object that is missing, or could not be made. */
    again: Again | undefined;
  }>;

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

/**
 * For so long an object that was there may be made anew (`kubectl replace --force`, another
 * definition) without the defaults in between, which could restart kubelets; and who deletes all at
 * once, a withdrawn object first, does not see the credential come back meanwhile.
 */
const graceSeconds = 30;

/**
 * Reads policy. What cannot be read leaves it as it was; rejects only while it is not known how it
 * was, after a start.
 */
export function steeringOf({ cluster, installed, log, now }: Options) {
  let last: InForce | undefined;
  let pausedUntil = 0;
  let again: Again | undefined;
  /** The object was read once; and since when it has been missing. */
  let known = false;
  let goneSince: number | undefined;

  async function declared(): Promise<Declared> {
    const time = now().getTime();
    // A clock that was set back must not make a pause of half a minute one of a year.
    pausedUntil = Math.min(pausedUntil, time + pauseSeconds * 1000);
    if (time < pausedUntil) return "absent";
    again = undefined;
    try {
      const found = await cluster.get<GlobalPullSecret>(globalPullSecretPath);
      if (found === undefined) return await missing(time);
      [known, goneSince] = [true, undefined];
      return found;
    } catch (error) {
      return error instanceof ApiError && error.status === 404 ? missing(time) : "unreadable";
    }
  }

  /** Policy stays for the grace, and then the object is made with the defaults. */
  async function missing(time: number): Promise<Declared> {
    if (known) goneSince = Math.min(goneSince ?? time, time);
    const left = goneSince === undefined ? 0 : graceSeconds - (time - goneSince) / 1000;
    if (left <= 0) return made();
    again = { seconds: left };
    return "unreadable";
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
      if (error.status === 404) return "absent";
      // Defined, but refused: no watch will tell when it is no longer.
      again = { seconds: pauseSeconds };
      log.warn({ error: error.message }, "GlobalPullSecret cluster could not be made");
      return "absent";
    }
  }

  return {
    async read(): Promise<Steering> {
      const found = await declared();
      const accepted = last === undefined ? await remembered() : last.accepted;
      last = inForce(installed, found, accepted);
      return { ...last, object: typeof found === "string" ? undefined : found, again };
    },
    /** Its watch has told of something. */
    hint() {
      pausedUntil = 0;
    },
  };

  async function remembered() {
    const state = await cluster.get<V1Secret>(owned.state);
    return readAccepted(installed, readState(state));
  }
}

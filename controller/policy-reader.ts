/**
 * Reads the one GlobalPullSecret for each run, and creates it if it is missing. In the spec of this
 * object, the controller writes only the fields of the installer's `--policy`, and scope Annotated
 * if it was in force. The other fields stay exactly as users declared them, and a field that a user
 * removes stays removed.
 */
import type { Logger } from "pino";
import type { GlobalPullSecret, GlobalPullSecretSpec } from "#api/global-pull-secret.ts";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { sooner, type Again } from "#runtime/loop.ts";
import { fieldManager, policyManager } from "#kube/client/ownership.ts";
import { globalPullSecretPath, owned } from "#kube/client/paths.ts";
import type { V1Secret } from "@kubernetes/client-node";
import { createObject, isRefused, policyDeclarer, problemOf } from "./declare.ts";
import {
  inForce,
  lastingScope,
  readAccepted,
  type AcceptedSpec,
  type DeclaredObject,
  type InForce,
} from "./policy/policy-in-force.ts";
import type { Installed } from "./policy/policy.ts";
import { readState } from "./objects/state.ts";

/** The policy in force for one run, and the object that declares it, if there is one. */
export type PolicyReading = InForce &
  Readonly<{
    object: GlobalPullSecret | undefined;
    /**
     * Why the installer's policy is not declared in the object. Empty if the policy is declared.
     */
    undeclared: readonly string[];
    /** When to read again an object that is missing or could not be created. */
    again: Again | undefined;
  }>;

type Options = Readonly<{
  /** Reads through informers. */
  cluster: Cluster;
  installed: Installed;
  /** The fields of spec that the installer declares. */
  declares: GlobalPullSecretSpec;
  log: Pick<Logger, "warn">;
  now: () => Date;
}>;

/**
 * Seconds until the controller again reads an object that it can neither read nor create. The
 * object's watch can show a change earlier.
 */
const pauseSeconds = 30;

/**
 * Seconds for which the policy of a deleted object stays in force. Without this time, if the object
 * is only replaced (`kubectl replace --force`, another CRD), the defaults could restart kubelets in
 * between. Also, if a user deletes everything, beginning with an object that has `Withdrawn`, the
 * withdrawn credentials must not return.
 */
const missingSeconds = 30;

/**
 * Reads the policy. While the object cannot be read, the policy stays the same. Rejects in two
 * cases only:
 * - After a start, the earlier policy is not known yet.
 * - The API server refuses the installer's policy, and neither an object nor an earlier policy
 *   exists.
 */
export function policyReader({ cluster, installed, declares, log, now }: Options) {
  const declare = policyDeclarer(cluster, declares);
  const isDeclaring = Object.keys(declares).length > 0;
  let last: InForce | undefined;
  let pausedUntil = 0;
  let again: Again | undefined;
  /** Why the object could not be created with the installer's policy, until the next attempt. */
  let unmade: ApiError | undefined;
  /** Whether the object has been read once, and since when it has been missing. */
  let known = false;
  let goneSince: number | undefined;

  async function declared(accepted: AcceptedSpec | undefined): Promise<DeclaredObject> {
    const time = now().getTime();
    // If the clock was set back by a year, a pause of half a minute must not last a year.
    pausedUntil = Math.min(pausedUntil, time + pauseSeconds * 1000);
    if (time < pausedUntil) return withoutObject();
    [again, unmade] = [undefined, undefined];
    const found = await present();
    if (found === undefined) return missing(time, accepted?.spec ?? {});
    if (found !== "unreadable") [known, goneSince] = [true, undefined];
    return found;
  }

  async function present(): Promise<GlobalPullSecret | "unreadable" | undefined> {
    try {
      return await cluster.get<GlobalPullSecret>(globalPullSecretPath);
    } catch (error) {
      return error instanceof ApiError && error.status === 404 ? undefined : "unreadable";
    }
  }

  /** Keeps the policy for `missingSeconds`, then creates the object. */
  async function missing(time: number, before: GlobalPullSecretSpec): Promise<DeclaredObject> {
    if (known) goneSince = Math.min(goneSince ?? time, time);
    const left = goneSince === undefined ? 0 : missingSeconds - (time - goneSince) / 1000;
    if (left <= 0) return made({ ...declares, ...lastingScope(before, declares) });
    again = { seconds: left };
    return "unreadable";
  }

  /**
   * Creates the object with these fields if no object exists. The API server fills in the defaults.
   */
  async function made(spec: GlobalPullSecretSpec): Promise<DeclaredObject> {
    try {
      return await createObject(cluster, spec, isDeclaring ? policyManager : fieldManager);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      // Another client created the object first.
      if (error.status === 409 && !error.isDenial) {
        again = { seconds: error.retryAfterSeconds ?? 1 };
        return "absent";
      }
      pausedUntil = now().getTime() + pauseSeconds * 1000;
      // The CRD is missing. The object's watch shows when the CRD exists.
      if (error.status === 404 && !error.isDenial) return "absent";
      // The CRD exists, but the object was not created. No watch shows when another attempt would
      // succeed.
      again = { seconds: pauseSeconds };
      if (isDeclaring) unmade = error;
      log.warn({ error: error.message }, "GlobalPullSecret cluster could not be created");
      return withoutObject();
    }
  }

  /**
   * True if the API server refuses the policy. The controller must then follow neither this policy
   * nor the defaults.
   */
  const isPolicyRefused = () => unmade !== undefined && isRefused(unmade);

  const withoutObject = () => (isPolicyRefused() ? "unreadable" : "absent");

  return {
    async read(): Promise<PolicyReading> {
      const accepted = last === undefined ? await remembered() : last.accepted;
      const found = await declared(accepted);
      const given = typeof found === "string" ? undefined : await declare(found);
      if (isPolicyRefused() && accepted === undefined) throw unmade;
      last = inForce(installed, given?.object ?? found, accepted, declares);
      return {
        ...last,
        object: given?.object,
        undeclared: given?.problems ?? (unmade === undefined ? [] : [problemOf(unmade)]),
        again: sooner(again, given?.again),
      };
    },
    /** Called after each event of the watch. */
    hint() {
      pausedUntil = 0;
    },
  };

  async function remembered() {
    const state = await cluster.get<V1Secret>(owned.state);
    return readAccepted(installed, readState(state));
  }
}

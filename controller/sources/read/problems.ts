/**
 * Everything that the controller can find wrong, each with its code. The same code is in the Event,
 * the log and the docs.
 */
import type { Catalogue } from "#contract/catalogue.ts";
import { overfull } from "#pullsecret/merge/capacity.ts";
import type { Problem } from "#pullsecret/problems/problems.ts";

/** Kind → code, what is wrong, what to do. `{}` stands for the detail. */
export const catalogue = {
  wrongType: [
    "GPS301",
    "type is {}",
    "give type: kubernetes.io/dockerconfigjson (the type cannot be changed: recreate it)",
  ],
  noDocument: ["GPS302", "is missing", "give the pull secret under this key"],
  originalMissing: [
    "GPS303",
    "no such Secret, or no right to read it",
    "create it and grant get, list and watch on it, or drop --original",
  ],
  foreign: [
    "GPS304",
    "{} exists and was not made by this controller",
    "delete or rename it; nothing is deployed until then",
  ],
  halted: ["GPS305", "{}", "correct the Secret or the nodes; the others are untouched"],
  overdue: ["GPS306", "{}", "repair or delete what the removal waits for"],
  leftBehind: [
    "GPS307",
    "{}",
    "remove the entries from their kubelet's config.json if these nodes return",
  ],
  tooMuch: overfull,
  originalUnknown: [
    "GPS309",
    "cannot be read now",
    "no action needed if its API server is away for a while; otherwise renew the credential in --original-kubeconfig",
  ],
  sourceMissing: ["GPS310", "no such Secret", "create it, or remove the source from spec.sources"],
  sourceForbidden: ["GPS311", "no right to read it", "grant it: {}"],
  sourceUnknown: [
    "GPS312",
    "cannot be read now",
    "no action needed once the API server can read it again",
  ],
  sourceReserved: [
    "GPS313",
    "{} may not be the Secret of a source",
    "name a Secret that is neither ours nor additional-pull-secret",
  ],
  samePriority: [
    "GPS314",
    "has the same priority as {}; the first of the two by name wins",
    "give them different priorities if that is not intended",
  ],
  sourceOrphaned: [
    "GPS315",
    "the object that named it was deleted, and the present one names no sources; it stays in force",
    "name it in spec.sources again, or delete its Secret to take its entries back",
  ],
  podsRefused: [
    "GPS320",
    "{}",
    "read the reason with kubectl describe daemonset global-pull-secret-syncer -n kube-system; the agents' pods need the host's network and directories",
  ],
  refused: [
    "GPS321",
    "{}",
    "let the controller do it: a missing right, an admission policy or a webhook prevents it",
  ],
  mutated: ["GPS322", "{}", "exclude our objects from the policy that changes them"],
  unsupported: [
    "GPS323",
    "the cluster serves {}: OpenShift, or HyperShift which hosts it, owns the nodes' pull secrets",
    "use the cluster's own global pull secret; nothing is deployed here",
  ],
  notAllowed: [
    "GPS330",
    "{}",
    "change spec, or have the installer allow it; until then the previous policy stays in force",
  ],
  directoryInUse: [
    "GPS331",
    "is {}; agents stay there, because elsewhere they could not take them back",
    "set spec.managementState: Withdrawn until nothing is left, or give the old directory again",
  ],
  unsearched: [
    "GPS332",
    "is skipped: the container runtimes of {} cannot mount the root directory recursively read-only",
    "look yourself for the files that docs/errors.md names, or update the runtimes and start the controller again; --hidden-files Ignore ends this report",
  ],
  unanswered: [
    "GPS325",
    "{}",
    "no action needed if the API server is away or busy for a while; otherwise make it answer",
  ],
  unserved: [
    "GPS327",
    "{}",
    "repair one of these nodes or its agent; the rollout then begins by itself",
  ],
  failed: [
    "GPS328",
    "{}",
    "repair these nodes; each is granted it again ten minutes after its agent is Ready",
  ],
  upgradeRefused: [
    "GPS329",
    "{}",
    "let the controller delete these pods, or delete them yourself; the nodes keep what they have",
  ],
  contested: [
    "GPS326",
    "{}",
    "stop that writer, or have it leave our objects alone; until then we write once a minute",
  ],
  awaited: ["GPS324", "{}", "let these nodes return, or delete them"],
} as const satisfies Catalogue;

/** A finding about `source`, which is an object's name. `path` is the place in it. */
export function finding(
  kind: keyof typeof catalogue,
  source: string,
  path: string,
  detail = "",
): Problem {
  const [code, what, todo] = catalogue[kind];
  const fill = (text: string) => text.replace("{}", () => detail);
  return { code, source, path, what: fill(what), todo: fill(todo) };
}

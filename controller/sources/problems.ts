/**
 * Every problem that the controller reports, each with its code. The same code is in the Event, the
 * log and the docs.
 */
import { messagesOf, type Catalogue } from "#contract/catalogue.ts";
import { secretProblems } from "#pullsecret/document/secret.ts";
import { overfull } from "#pullsecret/merge/capacity.ts";

/** Kind → code, what is wrong, what to do. `{}` stands for the detail. */
export const catalogue = {
  ...secretProblems,
  originalMissing: [
    "GPS303",
    "the Secret does not exist, has no entries, or the right to read it is missing",
    "create it and grant get, list and watch on it, or remove --original",
  ],
  foreign: ["GPS304", "{} exists and was not created by this controller", "delete or rename it"],
  halted: ["GPS305", "{}", "correct the Secret or nodes, then run kubectl pull-secret retry"],
  overdue: ["GPS306", "{}", "repair or delete what the removal waits for"],
  tooMuch: overfull,
  originalUnknown: [
    "GPS309",
    "cannot be read now",
    "if this lasts, renew the credential in --original-kubeconfig",
  ],
  sourceMissing: [
    "GPS310",
    "the Secret does not exist, or has no entries",
    "create it, or remove the source from spec.sources",
  ],
  sourceShrinks: [
    "GPS340",
    "most of its registries are gone: {}",
    "put them back if this is a mistake",
  ],
  sourceForbidden: ["GPS311", "the right to read it is missing", "grant it: {}"],
  sourceUnknown: ["GPS312", "cannot be read now", "no action needed if this ends by itself"],
  sourceReserved: [
    "GPS313",
    "{} cannot be the Secret of a source",
    "name a Secret other than additional-pull-secret and those of this product",
  ],
  samePriority: [
    "GPS314",
    "has the same priority as {}, so the first of the two by name wins",
    "set different priorities, unless this is intended",
  ],
  sourceOrphaned: [
    "GPS315",
    "the object that named it was deleted, and the present object names no sources, so it stays in force",
    "name it in spec.sources again, or delete its Secret to remove its entries",
  ],
  denied: [
    "GPS341",
    "its registry denies the credential: {}",
    "replace the credential; with it, nodes cannot pull even public images of this registry",
  ],
  imageDenied: [
    "GPS342",
    "the pull of {} is denied: {}",
    "replace the credential, or grant its account the right to pull this image",
  ],
  podsRefused: [
    "GPS320",
    "{}",
    "find the reason with kubectl describe daemonset global-pull-secret-syncer -n kube-system",
  ],
  refused: ["GPS321", "{}", "allow it"],
  mutated: ["GPS322", "{}", "exclude our objects from the policy that changes them"],
  unsupported: [
    "GPS323",
    "the cluster serves {}: OpenShift manages the nodes' pull secrets",
    "use the cluster's own global pull secret",
  ],
  notAllowed: ["GPS330", "{}", "change the spec, or ask the installer to allow it"],
  unanswered: ["GPS325", "{}", "if this lasts, repair the API server"],
  unserved: ["GPS327", "{}", "repair these nodes or their agents"],
  failed: ["GPS328", "{}", "repair these nodes, then run kubectl pull-secret retry"],
  unguarded: [
    "GPS338",
    "the ValidatingAdmissionPolicy global-pull-secret-nodes or its binding does not exist, so reports prove nothing",
    "install the product's manifests again",
  ],
  flapping: ["GPS339", "{}", "let only one of these programs write the Secret"],
  contested: ["GPS326", "{}", "stop that client, or exclude our objects"],
  awaited: ["GPS324", "{}", "wait for these nodes to return, or delete them"],
} as const satisfies Catalogue;

/** A problem of an object. The path is the place in that object. */
export const { problem: finding } = messagesOf(catalogue);

/** The first `most` of these names, and how many there are beside them, of `count` in all. */
export function listOf(names: readonly string[], most = 10, count = names.length): string {
  const listed = names.slice(0, most);
  const more = count > listed.length ? [`${count - listed.length} more`] : [];
  return [listed.join(", "), ...more].filter(Boolean).join(" and ");
}

/** The problems of a SyncSecret, each with its code. */
import { messagesOf, type Catalogue } from "#contract/catalogue.ts";

/** Kind → code, problem, action. `sentence` replaces `{}` by a detail, never by content. */
export const catalogue = {
  reference: [
    "GPS485",
    "the Secret in secretRef cannot be used: {}",
    "create it with the SyncSecret's type, and grant this program get on it",
  ],
  keyName: [
    "GPS472",
    "data has a key that is not valid in a Secret",
    "use letters, digits, - _ and .",
  ],
  missingKey: ["GPS463", "a Secret of its type needs the key {}", "add it to data"],
  notDocument: ["GPS464", 'data["{}"]: not a JSON object', "write a Docker configuration there"],
  tooManyKeys: ["GPS469", "it has more than {} keys", "split it into several SyncSecrets"],
  tooLarge: ["GPS470", "its content is larger than {} bytes", "reduce its content"],
  foreign: ["GPS465", "{} exists there and was not made from this object", "delete it there"],
  refused: [
    "GPS466",
    "not written in the management cluster: {}",
    "check the ResourceQuota and the rights of the namespace there",
  ],
  unreachable: [
    "GPS467",
    "cannot reach the management cluster: {}",
    "no action needed if this ends by itself",
  ],
  changed: [
    "GPS473",
    "admission in the management cluster changes the {}",
    "exclude this program's objects from that policy",
  ],
  undone: [
    "GPS474",
    "the {} does not last in the management cluster: ten writes of it were undone",
    "find the client that changes it there",
  ],
  denied: [
    "GPS481",
    "the management cluster refuses our token: {}",
    "create a new token for the kubeconfig in Secret global-pull-secret-sync-management",
  ],
  metadata: [
    "GPS482",
    "the metadata of {} is larger than this program reads, so it is left out",
    "remove annotations and labels from it",
  ],
  tooManyObjects: [
    "GPS483",
    "there are {} objects in one collection, and this program serves 10,000",
    "delete objects, or limit them by a ResourceQuota",
  ],
  tooFast: [
    "GPS484",
    "the objects change faster than this program reads them",
    "find out who changes them",
  ],
  leftBehind: [
    "GPS478",
    "deleted without confirmation from the management cluster: {}",
    "no action needed: a copy that no finalizer holds is deleted when that cluster answers again",
  ],
  tokenEnds: [
    "GPS477",
    "the token for the management cluster ends at {}",
    "apply the output of pull-secret fleet tenant again, or renew the kubeconfig in its Secret",
  ],
  tokenContested: [
    "GPS480",
    "the renewed token for the management cluster does not last: {} restores the old one",
    "stop it from writing the kubeconfig of that Secret, or renew the token there",
  ],
  copied: [
    "GPS471",
    "it is itself a copy from another cluster, and is not copied further",
    "run the tenant's side in the tenant's cluster; if the object is your own, remove our label",
  ],
} as const satisfies Catalogue;

export const { sentence } = messagesOf(catalogue);

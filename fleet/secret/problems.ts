/** What the fleet's controller can find wrong, each with its code. */
import type { Catalogue } from "#contract/catalogue.ts";
import { escape } from "#pullsecret/problems/keypath.ts";

/** Kind → code, what is wrong, what to do. `{}` stands for the detail. */
export const catalogue = {
  sourceMissing: ["GPS431", "the Secret {} is not there", "create it; nothing is taken away"],
  sourceInvalid: ["GPS432", "{}", "correct the Secret; the clusters keep what they have"],
  sourceType: [
    "GPS433",
    "a Secret of type {} opens one cluster",
    "name another: what opens one cluster is not brought to others",
  ],
  conflict: [
    "GPS434",
    "{} is older and has the same target",
    "give another target, or delete one of the two",
  ],
  foreign: [
    "GPS435",
    "the target exists and was not placed by this object",
    "delete or rename it there; it is not touched",
  ],
  noKubeconfig: ["GPS436", "there is no Secret {}", "nothing, while the cluster is being made"],
  kubeconfig: [
    "GPS437",
    "the kubeconfig cannot be used: {}",
    "correct it; nothing is connected to",
  ],
  unreachable: ["GPS438", "{}", "nothing, if the cluster is away for a while"],
  refused: ["GPS439", "{}", "let the target be written there"],
  mutated: ["GPS440", "admission there changes the Secret", "leave the target out of that policy"],
  halted: ["GPS441", "{} refuse the Secret", "correct the Secret or these clusters"],
  tooMany: ["GPS442", "more than 1,000 namespaces are selected", "select fewer with each object"],
  unreadable: ["GPS443", "{}", "grant it, or wait until the API server answers"],
} as const satisfies Catalogue;

/** `GPS431: what is wrong; what to do`: one line of at most 500 characters. */
export function sentence(kind: keyof typeof catalogue, detail = ""): string {
  const [code, what, todo] = catalogue[kind];
  const shown = escape(detail.slice(0, 300));
  return `${code}: ${what.replace("{}", () => shown)}; ${todo}`.slice(0, 500);
}

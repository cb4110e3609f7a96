/** What the controller can find wrong, each with its code: the same code stands in the Event, the log and the docs. */
import type { Problem } from "../pullsecret/problems.ts";

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
  overdue: ["GPS306", "{}", "repair or delete what is waited for"],
  leftBehind: ["GPS307", "{}", "remove the entries from their kubelet's config.json if these nodes return"],
} as const satisfies Record<string, readonly [code: string, what: string, todo: string]>;

/** A finding of the controller about `source`, which is an object's name; `path` is the place in it. */
export function finding(kind: keyof typeof catalogue, source: string, path: string, detail = ""): Problem {
  const [code, what, todo] = catalogue[kind];
  return { code, source, path, what: what.replace("{}", () => detail), todo };
}

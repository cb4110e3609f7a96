/** The type that a Secret with a pull secret must have. */
import { secretType } from "#contract/names.ts";
import type { Problem } from "../problems/problems.ts";

/**
 * Code, problem, action; `{}` stands for the type. Part of the controller's catalogue, because the
 * controller refuses the Secret.
 */
export const wrongType = [
  "GPS301",
  "type is {}",
  "set type: kubernetes.io/dockerconfigjson (a type cannot be changed, so recreate the Secret)",
] as const;

/** Why the controller does not read a Secret of this type; undefined if it does. */
export function judgeType(type: string | undefined, source: string): Problem | undefined {
  if (type === secretType) return undefined;
  const [code, what, todo] = wrongType;
  return { code, source, path: "type", what: what.replace("{}", type ?? "missing"), todo };
}

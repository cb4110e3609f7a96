/** Values as YAML, for people. */
import { dumpYaml as dump } from "@kubernetes/client-node";

/** What is not JSON is left out; no anchors: every part stands where it is used. */
export function dumpYaml(value: unknown): string {
  return dump(JSON.parse(JSON.stringify(value)), { noRefs: true, lineWidth: -1 });
}

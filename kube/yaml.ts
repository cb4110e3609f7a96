/** Values as YAML, for people. */
import { dumpYaml as dump } from "@kubernetes/client-node";

/**
 * The value as YAML. Whatever is not JSON is left out, and there are no anchors: every part is
 * written where it is used.
 */
export function dumpYaml(value: unknown): string {
  return dump(JSON.parse(JSON.stringify(value)), { noRefs: true, lineWidth: -1 });
}

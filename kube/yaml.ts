/** Values as YAML, for people, and back. */
import { dumpYaml as dump } from "@kubernetes/client-node";
import { CORE_SCHEMA, loadAll } from "js-yaml";

/**
 * The value as YAML. Whatever is not JSON is left out, and there are no anchors: every part is
 * written where it is used.
 */
export function dumpYaml(value: unknown): string {
  return dump(JSON.parse(JSON.stringify(value)), { noRefs: true, lineWidth: -1 });
}

/**
 * Each document of a text, as it stands there; empty ones are left out. Throws, and may quote the
 * text. The client's own reader makes typed objects, and drops the fields that it does not know.
 */
export const loadDocuments = (text: string): unknown[] =>
  loadAll(text, { schema: CORE_SCHEMA }).filter((one) => one !== null && one !== undefined);

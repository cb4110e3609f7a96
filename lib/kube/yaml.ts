/** Values as YAML, for people, and back. */
import { CORE_SCHEMA, dump, intCoreTag, loadAll, mergeTag } from "js-yaml";

/** kubectl reads `defaultMode: 0400` as octal, as the author of a manifest intends. */
const octal = /^[-+]?0[0-7_]+$/;
const asKubectl = CORE_SCHEMA.withTags(mergeTag, {
  ...intCoreTag,
  resolve: (text, ...more) =>
    octal.test(text)
      ? Number.parseInt(text.replaceAll("_", ""), 8)
      : intCoreTag.resolve(text, ...more),
});

/**
 * The value as YAML. Values that are not JSON are left out. The copy by way of JSON shares no part,
 * so the YAML has no anchors.
 */
export function dumpYaml(value: unknown): string {
  return dump(JSON.parse(JSON.stringify(value)), { lineWidth: -1 });
}

/**
 * Each document of a text, unchanged except for octal numbers and merge keys, which are read as
 * kubectl reads them. Empty documents are left out. If this function throws, the error can quote
 * the text. We do not use the client library's reader, because it makes typed objects and drops
 * unknown fields.
 */
export const loadDocuments = (text: string): unknown[] =>
  loadAll(text, { schema: asKubectl }).filter(
    (document) => document !== null && document !== undefined,
  );

/** TOML documents as containerd reads them, without anything that two parsers read differently. */
import { isUtf8 } from "node:buffer";
import { parse } from "smol-toml";

export type TomlTable = Readonly<Record<string, unknown>>;

/** Far above what a configuration needs, and far below the limit of our recursion. */
const maxDepth = 32;

/**
 * What our parser accepts and containerd's does not: escapes, line breaks and last commas of TOML
 * 1.1. A text or a comment that looks like one is not worth a parser.
 */
const later = /\\[xe]|=\s*\{[^}\n]*$|,\s*\}/m;

/** The document; undefined if it is not valid TOML 1.0 in UTF-8. Never throws. */
export function readToml(bytes: Uint8Array): TomlTable | undefined {
  if (!isUtf8(bytes)) return undefined;
  try {
    const text = Buffer.from(bytes).toString();
    if (later.test(text)) return undefined;
    // The parser's tables have no prototype, by which a comparison would distinguish them.
    return structuredClone(
      parse(text, { maxDepth, integersAsBigInt: true, unsafeKeyBehaviour: "throw" }),
    );
  } catch {
    return undefined;
  }
}

export function isTable(value: unknown): value is TomlTable {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

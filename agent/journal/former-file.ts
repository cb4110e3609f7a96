/**
 * What a withdrawal has taken away, by its digests, in the pod's own memory: the entries, and the
 * files that held them. It outlives our folder, which a withdrawal removes, and the process, which
 * ends to confirm the withdrawal. It goes with the pod.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Former } from "./former.ts";

/** `copies`: digests of config.json as it was while it held all of ours, oldest first. */
export type Past = Readonly<{ copies: readonly string[]; former: Former }>;

const name = "former";
const nothing: Past = { copies: [], former: [] };

/** Half of what the pod's directory may hold. */
const mostBytes = 32 * 1024;
/** A backup that is older than this many changes of the file is not recognized. */
const mostCopies = 64;
/** Of a digest, and of a list without its key: quotes, commas and names. */
const bytesOf = { digest: 46, list: 21, copies: 26 };

/** Reads the digests; none where there is no such file of ours. Never throws. */
export function readFormer(directory: string): Past {
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, name), "utf8"));
    const { copies, former } = (read ?? {}) as Readonly<Record<string, unknown>>;
    return isTexts(copies) && Array.isArray(former)
      ? { copies, former: former.filter(isOne) }
      : nothing;
  } catch {
    return nothing;
  }
}

/**
 * Keeps the digests, and returns those that are kept: of too many the oldest go. Where they cannot
 * be written, they end with this process.
 */
export function keepFormer(directory: string, past: Past): Past {
  const copies = past.copies.slice(-mostCopies);
  const left = mostBytes - bytesOf.copies - copies.length * bytesOf.digest;
  const kept: Past = { copies, former: newest(past.former, left) };
  try {
    writeFileSync(join(directory, name), JSON.stringify(kept), { mode: 0o600 });
  } catch {
    // This process remembers them.
  }
  return kept;
}

function newest(former: Former, most: number): Former {
  let left = most;
  const lists = former.toReversed().map(({ key, wrote }) => {
    left -= Buffer.byteLength(JSON.stringify(key)) + bytesOf.list;
    const fit = Math.max(0, Math.floor(left / bytesOf.digest));
    const fitting = fit === 0 ? [] : wrote.slice(-fit);
    left -= fitting.length * bytesOf.digest;
    return { key, wrote: fitting };
  });
  return lists.filter(({ wrote }) => wrote.length > 0).toReversed();
}

function isOne(value: unknown): value is Former[number] {
  const { key, wrote } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return typeof key === "string" && isTexts(wrote);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

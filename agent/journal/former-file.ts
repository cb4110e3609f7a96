/**
 * What was ours, by its digests, in the pod's own memory. It outlives our folder, which a
 * withdrawal removes, and the process, which ends to confirm the withdrawal. It goes with the pod.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Former } from "./former.ts";

const name = "former";

/** Half of what the pod's directory may hold. */
const mostBytes = 32 * 1024;
/** Of a digest, and of a list without its key: quotes, commas and names. */
const bytesOf = { digest: 46, list: 21 };

/** Reads the digests; none where there is no such file of ours. Never throws. */
export function readFormer(directory: string): Former {
  try {
    const read: unknown = JSON.parse(readFileSync(join(directory, name), "utf8"));
    return Array.isArray(read) ? read.filter(isOne) : [];
  } catch {
    return [];
  }
}

/** Keeps the digests; of too many the oldest go. Where they cannot be kept, they end with us. */
export function keepFormer(directory: string, former: Former): void {
  try {
    writeFileSync(join(directory, name), JSON.stringify(newest(former)), { mode: 0o600 });
  } catch {
    // This process remembers them.
  }
}

function newest(former: Former): Former {
  let left = mostBytes;
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
  return (
    typeof key === "string" && Array.isArray(wrote) && wrote.every((one) => typeof one === "string")
  );
}

/** Reads files that others may have put there: bounded, and without ever waiting. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** `irregular`: a directory, a FIFO, a device. `large`: its size in bytes, more than allowed. */
export type Regular =
  | Readonly<{ bytes: Buffer }>
  | Readonly<{ irregular: true }>
  | Readonly<{ large: number }>;

/**
 * Returns the bytes of a regular file of at most `most` bytes. A FIFO does not block, and a device
 * is not read. A link as the last step is followed, or refused with ELOOP. Throws what the file
 * system threw.
 */
export function readRegular(file: string, most: number, links: "follow" | "refuse"): Regular {
  const link = links === "refuse" ? constants.O_NOFOLLOW : 0;
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | link);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return { irregular: true };
    if (found.size > most) return { large: found.size };
    const bytes = Buffer.alloc(found.size);
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, found.size, 0)) };
  } finally {
    closeSync(descriptor);
  }
}

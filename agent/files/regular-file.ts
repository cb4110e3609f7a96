/** Files that others may have put there: read bounded, and never waited for. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** `irregular`: a directory, a FIFO, a device. `large`: its size in bytes, more than allowed. */
export type Regular =
  | Readonly<{ bytes: Buffer }>
  | Readonly<{ irregular: true }>
  | Readonly<{ large: number }>;

/**
 * The bytes of a regular file of at most `most`. A FIFO does not block, and a device is not read;
 * a link as the last step is followed or, as ELOOP, refused. Throws what the file system threw.
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

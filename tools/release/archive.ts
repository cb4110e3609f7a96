/** Archives and checksums that depend only on the files' names and contents. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { run } from "#test/cluster/run.ts";

/**
 * Packs the files and folders `names` of `folder`. In the archive, root owns every file, everybody
 * can read it, and its date is `created` (seconds since 1970).
 */
export async function tar(
  archive: string,
  folder: string,
  names: readonly string[],
  created: number,
): Promise<void> {
  const same = ["--sort=name", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"];
  const mode = ["--mode=a+rX,u+w,go-w", `--mtime=@${created}`];
  await run(["tar", ...same, ...mode, "-C", folder, "-cf", archive, ...names]);
}

/** `archive.tar` → `archive.tar.gz`, without a name or a time in its header. */
export function gzip(archive: string, compressed: string): void {
  writeFileSync(compressed, gzipSync(readFileSync(archive), { level: 9 }));
}

/** The digest in hexadecimal. */
export function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

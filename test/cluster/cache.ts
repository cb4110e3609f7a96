/**
 * Results that are made once per machine and used by every checkout. The key of a result is
 * computed from everything that the result depends on.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { until } from "./await.ts";
import { isAlive, thisProcess, type Owner } from "./host/owner.ts";

/** Root of everything that the tests store outside the checkout. */
export const cacheRoot = join(
  process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"),
  "global-pull-secret",
);

/** A short key (16 hex digits of SHA-256) of everything that a cached result depends on. */
export function keyOf(...parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 16);
}

/**
 * Returns `path`. If `path` does not exist, `make` fills a draft beside it. The draft is then
 * renamed, so `path` is always complete. Two processes never make the same result at the same time:
 * the second process waits.
 */
export async function once(path: string, make: (draft: string) => Promise<void>): Promise<string> {
  if (existsSync(path)) return path;
  mkdirSync(dirname(path), { recursive: true });
  return await locked(`${path}.lock`, async () => {
    if (existsSync(path)) return path;
    for (const entry of readdirSync(dirname(path))) {
      // Removes the unfinished work of a killed process.
      if (entry.startsWith(`${basename(path)}.draft`))
        rmSync(join(dirname(path), entry), { recursive: true, force: true });
    }
    const draft = `${path}.draft-${process.pid}`;
    await make(draft);
    renameSync(draft, path);
    return path;
  });
}

/**
 * Runs `work` while this process holds the lock, a file that names its owner process. Takes over
 * the lock if its owner is dead.
 */
async function locked<T>(lock: string, work: () => Promise<T>): Promise<T> {
  // 30 minutes: even a build without a cache on two slow processor cores takes less.
  await until(`the other process that holds ${lock} is done`, () => take(lock), {
    timeout: 30 * 60_000,
    every: 200,
  });
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * Tries to take the lock; true if this process holds it now. Also removes the lock of a dead owner,
 * so that the next try can take it.
 */
export function take(lock: string): boolean {
  try {
    writeFileSync(lock, JSON.stringify(thisProcess), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  try {
    const text = readFileSync(lock, "utf8");
    // If the lock is empty, its owner lives: the owner has just created the file and is about to
    // write it.
    if (text !== "" && !isAlive(JSON.parse(text) as Owner)) rmSync(lock, { force: true });
  } catch {
    // Another process has removed the lock meanwhile. The next try takes the lock.
  }
  return false;
}

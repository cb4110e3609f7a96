/**
 * Every change that the agent's code makes in the file system, one by one. A test can let one of
 * them fail, kill the agent before it, or let another program write first.
 */
import fs, { constants } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/** `path`: what the call changes; after a rename, what has the new name. */
export type Effect = Readonly<{ call: string; path: string; from: string }>;

type Watch = (effect: Effect) => void;
type Call = (...given: readonly unknown[]) => unknown;

let watch: Watch | undefined;

const calls = ["chmodSync", "mkdirSync", "openSync", "renameSync", "rmdirSync", "unlinkSync"];
const writing = constants.O_WRONLY | constants.O_RDWR;

function changes(call: string, flags: unknown): boolean {
  if (call !== "openSync") return true;
  return typeof flags === "string" ? flags !== "r" : (Number(flags) & writing) !== 0;
}

const table = fs as unknown as Record<string, Call>;
for (const call of calls) {
  const real = table[call] as Call;
  table[call] = (...given) => {
    const [from, second] = given;
    const path = call === "renameSync" ? second : from;
    if (changes(call, second)) watch?.({ call, path: String(path), from: String(from) });
    return real(...given);
  };
}
syncBuiltinESMExports();

const { open } = fs.promises;
const handle = { sync: async () => {}, [Symbol.asyncDispose]: async () => {} };

// The agent opens files in this way to sync them. The file system of the histories is in memory,
// and on a busy machine, a trip through the thread pool takes longer than all other calls of a
// round.
fs.promises.open = async (path, flags, mode) => {
  if (watch === undefined || changes("openSync", flags)) return await open(path, flags, mode);
  fs.closeSync(fs.openSync(path, flags ?? "r"));
  return handle as unknown as fs.promises.FileHandle;
};

/** Calls `each` before each change that `work` makes. What `each` changes itself does not count. */
export async function watching<T>(each: Watch, work: () => Promise<T>): Promise<T> {
  const watched: Watch = (effect) => {
    watch = undefined;
    try {
      each(effect);
    } finally {
      watch = watched;
    }
  };
  watch = watched;
  try {
    return await work();
  } finally {
    watch = undefined;
  }
}

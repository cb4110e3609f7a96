/**
 * Follows one object. A list shows the present state, and a watch from the list's version shows the
 * changes. When a watch has ended in the usual way, the next watch continues from the last version.
 * After an error a list follows.
 */
import { OwnError } from "../files/errno.ts";
import { type Connection, Refusal } from "./connection.ts";
import { type ApiObject, isApiObject, isPart } from "./objects.ts";
import { pauseAfter, steady } from "./pause.ts";
import type { Streak } from "./trouble.ts";

export type Target = Readonly<{
  /** The path of the collection. */
  collection: string;
  name: string;
  /** The absence of the object is a trouble. */
  isNeeded: boolean;
  /** Called with the object, or with undefined if it does not exist. */
  received: (object: ApiObject | undefined, from: "list" | "watch") => void;
}>;

/** What each part needs that sends requests. */
export type Sending = Readonly<{
  connection: Connection;
  streak: Streak;
  /** Waits that many milliseconds. */
  pause: (milliseconds: number) => Promise<void>;
  /** Milliseconds that never jump. */
  clock: () => number;
  signal: AbortSignal;
}>;

/** Seconds of one watch: 240 to 300, so that the watches of all nodes do not end together. */
const watchSeconds = () => Math.round(240 + 60 * Math.random());

/** Follows the object until `signal` aborts. Never rejects. */
export async function follow(target: Target, options: Sending): Promise<void> {
  const { connection, streak, pause, clock, signal } = options;
  const fieldSelector = `metadata.name=${target.name}`;
  const path = (query: Readonly<Record<string, string>> = {}) =>
    `${target.collection}?${new URLSearchParams({ fieldSelector, ...query })}`;
  let exists = false;
  /** Where the next watch begins. Undefined: a list must come first. */
  let version: string | undefined;
  let failures = 0;

  function show(object: ApiObject | undefined, from: "list" | "watch"): void {
    exists = object !== undefined;
    target.received(object, from);
  }

  /**
   * We list, although we follow one object only. A watch from the object's own version would be
   * refused: after a restart, the API server knows no version as old as that of an unchanged
   * object.
   */
  async function list(): Promise<string> {
    const { object, version } = readList(await connection.call("GET", path()));
    show(object, "list");
    return version;
  }

  async function watch(resourceVersion: string): Promise<void> {
    const timeoutSeconds = String(watchSeconds());
    const query = { watch: "true", allowWatchBookmarks: "true", timeoutSeconds, resourceVersion };
    const lines = await connection.watch(path(query));
    checkExists();
    for await (const line of lines) {
      const { type, object } = readEvent(line);
      version = object.metadata.resourceVersion;
      if (type !== "BOOKMARK") show(type === "DELETED" ? undefined : object, "watch");
      checkExists();
    }
  }

  function checkExists(): void {
    if (target.isNeeded && !exists) streak.failed("objectless");
    else streak.ended();
  }

  while (!signal.aborted) {
    const began = clock();
    let error: unknown;
    try {
      version ??= await list();
      await watch(version);
    } catch (caught) {
      error = caught;
      // The API server can have forgotten this version (410). If etcd was restored from a backup,
      // the version can even be of the future: then the watch stays silent, and shows no change.
      version = undefined;
      streak.failed(error);
    }
    failures = clock() - began >= steady ? 1 : failures + 1;
    await pause(pauseAfter(failures, error));
  }
}

type List = Readonly<{ object: ApiObject | undefined; version: string }>;

/** Reads the list of the only object. */
function readList(answer: unknown): List {
  const items = isApiObject(answer) ? (answer["items"] ?? []) : undefined;
  const [object] = Array.isArray(items) ? (items as unknown[]) : [null];
  if (!isApiObject(answer) || (object !== undefined && !isApiObject(object)))
    throw new OwnError("the answer is not a list");
  return { object, version: answer.metadata.resourceVersion };
}

/** Reads an event of a watch. Throws the error that an event contains. */
function readEvent(line: unknown): Readonly<{ type: string; object: ApiObject }> {
  const { type, object } = isPart(line) ? line : {};
  if (type === "ERROR" && isPart(object)) throw refusalOf(object);
  if (typeof type !== "string" || !isApiObject(object))
    throw new OwnError("a line of the watch is not an event");
  return { type, object };
}

function refusalOf({ code, details }: Readonly<Record<string, unknown>>): Refusal {
  const retryAfter = isPart(details) ? details["retryAfterSeconds"] : 0;
  return new Refusal(Number(code), Number(retryAfter) || 0);
}

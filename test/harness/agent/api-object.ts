/** One object of the scripted API server: its history, and the watches that follow it. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";

type Present = Readonly<{
  metadata: Readonly<{ name: string; uid: string; resourceVersion: string }>;
  [part: string]: unknown;
}>;

type Event = Readonly<{ version: number; line: string }>;

const lineOf = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;

export class ScriptedObject {
  present: Present | undefined;
  readonly #name: string;
  /** The version of the whole server, shared by all objects. */
  readonly #clock: { version: number };
  /** Each watch with the version from which it shows changes. */
  readonly #watches = new Map<ServerResponse, number>();
  #events: Event[] = [];
  /** A watch from a version before this one is refused. */
  #oldest = 0;

  constructor(name: string, clock: { version: number }) {
    this.#name = name;
    this.#clock = clock;
  }

  /** Creates, changes or deletes the object. */
  set(parts: Readonly<Record<string, unknown>> | undefined): void {
    const former = this.present;
    if (former === undefined && parts === undefined) return;
    const version = (this.#clock.version += 1);
    const uid = former?.metadata.uid ?? randomUUID();
    const metadata = { name: this.#name, uid, resourceVersion: String(version) };
    const type = parts === undefined ? "DELETED" : former === undefined ? "ADDED" : "MODIFIED";
    this.present = parts && { metadata, ...parts };
    const line = lineOf(type, { ...former, ...parts, metadata });
    this.#events.push({ version, line });
    for (const [watch, from] of this.#watches) if (version > from) watch.write(line);
  }

  list(): object {
    const resourceVersion = String(this.#clock.version);
    return { metadata: { resourceVersion }, items: this.present ? [this.present] : [] };
  }

  /** Sends all later events. */
  watch(query: URLSearchParams, response: ServerResponse): void {
    const from = Number(query.get("resourceVersion"));
    if (from < this.#oldest) {
      const error = { kind: "Status", code: 410, reason: "Expired", message: "server-text" };
      response.end(lineOf("ERROR", error));
      return;
    }
    for (const { version, line } of this.#events) if (version > from) response.write(line);
    this.#watches.set(response, from);
    response.on("close", () => this.#watches.delete(response));
  }

  get watched(): number {
    return this.#watches.size;
  }

  write(text: string | Buffer): void {
    for (const watch of this.#watches.keys()) watch.write(text);
  }

  bookmark(): void {
    const metadata = { resourceVersion: String(this.#clock.version) };
    this.write(lineOf("BOOKMARK", { metadata }));
  }

  endWatches(): void {
    for (const watch of this.#watches.keys()) watch.end();
    this.#watches.clear();
  }

  compact(): void {
    this.#oldest = this.#clock.version += 1;
    this.#events = [];
  }

  /** Sets the object's version back. All changes are forgotten. */
  rewind(): void {
    this.#oldest = 0;
    this.#events = [];
    if (this.present === undefined) return;
    const resourceVersion = String(this.#clock.version);
    this.present = { ...this.present, metadata: { ...this.present.metadata, resourceVersion } };
  }
}

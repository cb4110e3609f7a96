/** A headless Chromium, driven by its DevTools protocol. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "../cluster/kit/debian.ts";

/** What the page reports by itself: a request, or an error. */
type Event = Readonly<{
  method: string;
  params: Readonly<{
    request?: Readonly<{ url: string }>;
    entry?: Readonly<{ level: string; text: string; url?: string }>;
    exceptionDetails?: unknown;
  }>;
}>;
type Answer = Readonly<{ id: number; result?: unknown; error?: Readonly<{ message: string }> }>;

/** Where Debian and Google install it. */
const programs = ["/usr/bin/chromium", "/usr/bin/google-chrome"];

async function program(): Promise<string> {
  const installed = programs.find(existsSync);
  if (installed === undefined) await install(["chromium"]);
  return installed ?? "/usr/bin/chromium";
}

export class Browser {
  /** Addresses of all requests since the start. */
  readonly requests: string[] = [];
  /** Errors of pages since the start: exceptions, and requests that failed. */
  readonly errors: string[] = [];
  readonly #socket: WebSocket;
  readonly #end: () => Promise<void>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #events = new EventTarget();
  #last = 0;

  private constructor(socket: WebSocket, end: () => Promise<void>) {
    this.#socket = socket;
    this.#end = end;
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(String(data)) as Answer | Event;
      if ("id" in message) this.#waiting.get(message.id)?.(message);
      else this.#observe(message);
    });
  }

  /** Starts a browser with one empty page. It reaches no host but this machine. */
  static async start(): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), "browser-"));
    const child = spawn(
      await program(),
      [
        "--headless",
        "--no-sandbox", // root cannot use the sandbox
        "--remote-debugging-port=0",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        `--user-data-dir=${folder}`,
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const exited = once(child, "exit");
    let printed = "";
    for await (const chunk of child.stderr.iterator({ destroyOnReturn: false })) {
      printed += String(chunk);
      if (/DevTools listening on \S+\n/.test(printed)) break;
    }
    child.stderr.resume();
    const [, host] = /DevTools listening on ws:\/\/([^/]+)/.exec(printed) ?? [];
    if (host === undefined) throw new Error(`the browser did not start: ${printed}`);
    type Target = Readonly<{ type: string; webSocketDebuggerUrl: string }>;
    const targets = (await (await fetch(`http://${host}/json/list`)).json()) as Target[];
    const url = targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl ?? "";
    const socket = new WebSocket(url);
    await once(socket, "open");
    const browser = new Browser(socket, async () => {
      socket.close();
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    for (const domain of ["Page", "Runtime", "Log", "Network"])
      await browser.send(`${domain}.enable`);
    return browser;
  }

  /** Calls a method of the protocol. */
  async send(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#last;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#waiting.set(id, resolve);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await promise;
    this.#waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Opens a page, and waits until it is loaded. */
  async open(url: string): Promise<void> {
    const loaded = once(this.#events, "Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await loaded;
  }

  /** The JSON value of an expression in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    type Result = Readonly<{ result: Readonly<{ value: T }>; exceptionDetails?: unknown }>;
    const params = { expression, returnByValue: true, awaitPromise: true };
    const { result, exceptionDetails } = (await this.send("Runtime.evaluate", params)) as Result;
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  }

  async end(): Promise<void> {
    await this.#end();
  }

  #observe({ method, params }: Event): void {
    const { request, entry, exceptionDetails } = params;
    if (method === "Network.requestWillBeSent" && request) this.requests.push(request.url);
    if (entry?.level === "error") this.errors.push(`${entry.text} ${entry.url ?? ""}`);
    if (exceptionDetails !== undefined) this.errors.push(JSON.stringify(exceptionDetails));
    this.#events.dispatchEvent(new globalThis.Event(method));
  }
}

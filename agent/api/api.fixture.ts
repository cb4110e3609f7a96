/** An agent's API client in this process, with a scripted API server. No pause lasts. */
import { setImmediate } from "node:timers/promises";
import type { TestContext } from "node:test";
import { inTime } from "#test/harness/agent/waiting.ts";
import { scriptedApi } from "#test/harness/agent/api-server.ts";
import { type ApiTrouble, openApi, type Seen } from "./api.ts";

export const node = "node1";

export const report = {
  revision: 7,
  digest: "abc",
  attempt: 1_764_416_000,
  result: "Proved",
  code: "GPS200",
  message: "the revision is in force",
  mode: "Restart",
  version: "1.2.3",
} as const;

export const order = { revision: 7, digest: "abc", attempt: report.attempt } as const;

type Setup = Readonly<{
  host?: string;
  /** Milliseconds. No test waits for the standard, an hour. */
  silence?: Readonly<{ answer?: number; watch?: number }>;
  /** Whether the client has its usual clock and its usual silences instead; default: no. */
  isUsual?: boolean;
}>;

/**
 * Starts the server. `open` starts the client. The client's clock stands still until a test moves
 * it.
 */
export async function setUp(t: TestContext, setup: Setup = {}) {
  const { host = "127.0.0.1", silence, isUsual = false } = setup;
  const server = await scriptedApi(t, { node, host });
  const clock = { now: 0 };
  const pauses: number[] = [];
  const troubles: ApiTrouble[] = [];
  const changes = { count: 0 };

  function open(options: Partial<Parameters<typeof openApi>[0]> = {}) {
    const stop = new AbortController();
    t.after(() => stop.abort());
    const api = openApi(
      {
        host,
        port: server.port,
        credentials: server.credentials,
        node,
        signal: stop.signal,
        changed: () => void (changes.count += 1),
        trouble: (trouble) => void troubles.push(trouble),
        ...options,
      },
      {
        ...(!isUsual && {
          clock: () => clock.now,
          silence: { answer: 3_600_000, watch: 3_600_000, ...silence },
        }),
        pause: async (milliseconds) => {
          pauses.push(milliseconds);
          await setImmediate();
        },
      },
    );
    return { ...api, stop: () => stop.abort() };
  }

  /** How many requests of that kind for that object have arrived. */
  const count = (kind: string, object: string) =>
    server.requests.filter((request) => request.kind === kind && request.object === object).length;

  return { server, clock, pauses, troubles, changes, open, count };
}

/** Waits for the condition, and fails if it does not become true. */
export async function until(condition: () => boolean): Promise<void> {
  if (!(await inTime(condition, 10_000))) throw new Error(`waited in vain: ${condition}`);
}

export const isRevision = (own: Seen["own"], revision: number) =>
  typeof own === "object" && own.order?.revision === revision;

export const hasReport = (own: Seen["own"], code: string, attempt = report.attempt as number) =>
  typeof own === "object" && own.report?.code === code && own.report.attempt === attempt;

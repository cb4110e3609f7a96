/**
 * Readiness on the node's loopback, for the kubelet's probe. Any local process can take the port
 * first, or answer in our place (SECURITY.md). So no action of the agent depends on the port. The
 * agent ends its container to make reports that must not be forged (termination-report.ts).
 */
import { createServer, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { statusOf } from "#contract/agent-codes.ts";
import { codes, type Code, fast, type Step, wait } from "../facts/step.ts";
import { describe } from "../files/errno.ts";
import { keyOf } from "#contract/grant.ts";
import type { GrantReading } from "../delivery/volume.ts";

export type Readiness = Readonly<{ ready: boolean; code: Code; line: string }>;

export type ReadinessPort = Readonly<{
  /**
   * Why clients cannot reach us while another program has the port; `undefined` if we have the
   * port, or if the first attempt is not over yet.
   */
  taken(): string | undefined;
  close(): void;
}>;

/** `reason`: the text beside the status, for people. */
type Answer = Readonly<{ status: number; reason?: Code; line: string }>;

const longestBackOff = 10_000;

/** The most bytes of a request's headers. The kubelet's request has 200 bytes. */
const maxHeaderSize = 4096;
/** Milliseconds for a whole request. */
const requestTimeout = 10_000;
/**
 * The most connections that are open at once. A further connection closes the oldest, so that
 * silent clients cannot block other clients. With `maxConnections`, Node would refuse the newest.
 */
const mostConnections = 16;

/**
 * Listens. If the port is taken, tries again every second, later every ten seconds. Calls `changed`
 * when the port turns out to be taken, and when we get the port. `GET /readyz` answers 200 if the
 * agent is ready. If not, it answers with the status of the agent's code and calls `unready`.
 * While two agent pods run, the agent that holds the port also gets the probes of the waiting pod,
 * and must not answer for that pod. So if `?template=DIGEST` names another template, the agent
 * answers that another agent works here.
 */
export function serveReadiness(
  port: number,
  template: string,
  readiness: () => Readiness,
  changed: () => void,
  unready: () => void = () => {},
): ReadinessPort {
  const answerTo = ({ method, url = "" }: IncomingMessage): Answer => {
    const [path, named] = /^\/readyz(?:\?template=(\w+))?$/.exec(url) ?? [];
    if (method !== "GET" || path === undefined) return { status: 404, line: "request /readyz" };
    const { ready, code, line } = readiness();
    if (named !== undefined && named !== template) return otherAgent;
    if (!ready) unready();
    return { status: ready ? 200 : statusOf(code), reason: code, line };
  };
  const otherAgent: Answer = {
    status: statusOf(codes.otherAgent),
    reason: codes.otherAgent,
    line: `this agent belongs to template ${template}`,
  };
  const server = createServer({ maxHeaderSize, requestTimeout }, (request, response) => {
    const { status, reason, line } = answerTo(request);
    const headers = { "Content-Type": "text/plain; charset=utf-8", Connection: "close" };
    response.writeHead(status, reason, headers).end(`${line}\n`);
  });
  const recent: Socket[] = [];
  server.on("connection", (socket) => {
    recent.push(socket);
    if (recent.length > mostConnections) recent.shift()?.destroy();
  });
  let taken: string | undefined;
  let retry: NodeJS.Timeout | undefined;
  let pause = 1000;
  const listen = () => server.listen(port, "127.0.0.1");
  server.on("listening", () => {
    if (taken === undefined) return;
    taken = undefined;
    changed();
  });
  server.on("error", (error) => {
    // A connection could not be accepted, because the process has no file descriptor left.
    if (server.listening) return;
    const wasTaken = taken !== undefined;
    taken = describe(error);
    retry = setTimeout(listen, pause);
    pause = Math.min(longestBackOff, 2 * pause);
    if (!wasTaken) changed();
  });
  listen();
  return {
    taken: () => taken,
    close: () => {
      clearTimeout(retry);
      server.close();
      server.closeAllConnections();
    },
  };
}

/**
 * In these states, the kubelet process that probed us might have ended. Only an answer to the next
 * kubelet process counts.
 */
const restarts: ReadonlySet<Code> = new Set([
  codes.restartOwed,
  codes.restarting,
  codes.kubeletFailed,
  codes.notBack,
  codes.restored,
  codes.stillDown,
  codes.kubeletSilent,
]);

/**
 * Seconds until the kubelet notices our readiness. It probes every second, but a busy node can need
 * up to a minute.
 */
const noticedWithin = 60;

/**
 * Lets the agent turn Ready for a grant only in a way that proves this grant. The controller
 * considers a node served when its pod is Ready and the transition time differs from the grant's
 * `since`. So after the grant arrived, the kubelet must see the agent unready and then ready. The
 * change to ready must not be in the same second as `since`, because transition times are whole
 * seconds.
 */
export class ReadinessProof {
  readonly #now: () => number;
  #key: string | undefined;
  #answered = false;
  #isRestarting = false;

  /** `now`: wall clock, milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Notes that a client, usually the kubelet, got the answer that we are not ready. Returns whether
   * this is new. In a state of `restarts`, the answer does not count, because the old kubelet might
   * still probe.
   */
  sawUnready(): boolean {
    if (this.#answered || this.#isRestarting) return false;
    this.#answered = true;
    return true;
  }

  /** Returns the step, or a wait until the kubelet has seen the agent unready. */
  orWait(step: Step, grant: GrantReading): Step {
    const presentGrant = typeof grant === "string" ? undefined : grant;
    const key = presentGrant && keyOf(presentGrant);
    if (grant !== "unread" && key !== this.#key) {
      this.#key = key;
      this.#answered = false;
    }
    // An unfit node without a grant is Ready even if healthz is silent. In this case, the kubelet
    // is not being restarted.
    this.#isRestarting = restarts.has(step.code) && !step.ready;
    if (this.#isRestarting) this.#answered = false;
    if (!step.ready || presentGrant === undefined) return step;
    return this.#answered && !this.#mayEqual(presentGrant.since) ? step : wait(codes.unseen, fast);
  }

  /**
   * Whether the kubelet might record a transition time that equals `since`. The kubelet notices our
   * readiness within a minute, so this is possible only in the last minute up to `since`. It is
   * impossible if `since` is not a valid time.
   */
  #mayEqual(since: string): boolean {
    const ahead = Math.floor(Date.parse(since) / 1000) - Math.floor(this.#now() / 1000);
    return ahead >= 0 && ahead < noticedWithin;
  }
}

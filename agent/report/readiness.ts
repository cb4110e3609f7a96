/**
 * Readiness on the node's loopback, for the kubelet's probe. Any local process can take the port
 * first, or answer in our place (SECURITY.md): nothing that the agent does depends on it, and what
 * may not be forged is said by the container's end (word.ts).
 *
 * HTTP by hand, as much as a probe needs: node:http costs twice the CPU at a probe a second, and a
 * fifth of the start (docs/inside/decisions/agent-cost.md).
 */
import { createServer, type Socket } from "node:net";
import { statusOf } from "#contract/agent-codes.ts";
import { codes, type Code, fast, type Step, wait } from "../facts/step.ts";
import { describe } from "../files/errno.ts";
import { keyOf } from "#contract/grant.ts";
import type { GrantReading } from "../delivery/volume.ts";

export type Readiness = Readonly<{ ready: boolean; code: Code; line: string }>;

export type ReadinessPort = Readonly<{
  /**
   * Why nobody can ask us, while the port is somebody else's; `undefined` before the first try is
   * over, too.
   */
  taken(): string | undefined;
  close(): void;
}>;

const longestBackOff = 10_000;

/** Longest request read, in bytes; the kubelet's has 200. A longer one is cut off. */
const mostBytes = 4096;
/**
 * Connections kept open. The kubelet makes one per probe; each new one cuts off the sixteenth
 * before it, so silent clients cannot keep others out and no probe needs a timer (a quarter of its
 * cost).
 */
const mostConnections = 16;

/**
 * Listens, and tries again every second, later every ten, where the port is taken; `changed` is
 * called when it is found taken and when it is had. `GET /readyz` answers 200, or the status of its
 * code, with one line; `unready` is called with each of the latter. With `?template=DIGEST` it
 * answers for any other template than its own that another agent works here: the kubelet's probe of
 * a waiting pod reaches the agent that holds the port, which must not answer for the other.
 */
export function serveReadiness(
  port: number,
  template: string,
  readiness: () => Readiness,
  changed: () => void,
  unready: () => void = () => {},
): ReadinessPort {
  const recent: Socket[] = [];
  const answerTo = (request: string): string => {
    const [found, named] =
      /^GET \/readyz(?:\?template=(\w+))? HTTP\/1\.[01]\r\n/.exec(request) ?? [];
    if (found === undefined) return answer("404 Not Found", "ask /readyz");
    const { ready, code, line } = readiness();
    if (named !== undefined && named !== template)
      return answer(statusLine(codes.otherAgent), `this agent is of template ${template}`);
    if (!ready) unready();
    return answer(ready ? "200 OK" : statusLine(code), line);
  };
  const server = createServer((socket) => {
    recent.push(socket.on("error", () => {}));
    if (recent.length > mostConnections) recent.shift()?.destroy();
    let request = "";
    socket.on("data", (bytes: Buffer) => {
      request += bytes.toString("latin1");
      // To the end of the headers: closing with unread bytes would reset the connection under the
      // answer.
      const whole = request.includes("\r\n\r\n");
      if (!whole && request.length <= mostBytes) return;
      // So little is the kernel's as soon as it is written. `end` would wait for the other side: a
      // sixth of a probe.
      if (whole) socket.write(answerTo(request));
      socket.destroy();
    });
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
    // Of a connection that could not be accepted, for want of descriptors.
    if (server.listening) return;
    const known = taken !== undefined;
    taken = describe(error);
    retry = setTimeout(listen, pause);
    pause = Math.min(longestBackOff, 2 * pause);
    if (!known) changed();
  });
  listen();
  return {
    taken: () => taken,
    close: () => {
      clearTimeout(retry);
      server.close();
      for (const socket of recent) socket.destroy();
    },
  };
}

/** The status line of an agent that is not ready, after the protocol. */
const statusLine = (code: Code): string => `${statusOf(code)} ${code}`;

/** It ends with the connection. */
function answer(status: string, line: string): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${line}\n`;
}

/**
 * States in which the kubelet that probed us may have ended: only an answer to its successor
 * counts.
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

/** Seconds; it probes every second, and a starved node is given a minute. */
const noticedWithin = 60;

/**
 * Makes readiness a proof of a grant. The controller considers a node served when its pod is Ready
 * and the transition time differs from the grant's `since`. So the kubelet must have seen the agent
 * unready after it got the grant, and in another second than `since`: transition times have no
 * fractions.
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
   * The kubelet, or who else probes, was answered that we are not ready. Returns whether that is
   * news. From the decision to restart a kubelet to the next look the old one may still ask.
   */
  sawUnready(): boolean {
    if (this.#answered || this.#isRestarting) return false;
    this.#answered = true;
    return true;
  }

  /** Returns the step, or a wait in its place until the kubelet has seen the agent unready. */
  orWait(step: Step, grant: GrantReading): Step {
    const given = typeof grant === "string" ? undefined : grant;
    const key = given && keyOf(given);
    if (grant !== "unread" && key !== this.#key) {
      this.#key = key;
      this.#answered = false;
    }
    // An unfit node that waits for a grant is Ready although its healthz is silent.
    this.#isRestarting = restarts.has(step.code) && !step.ready;
    if (this.#isRestarting) this.#answered = false;
    if (!step.ready || given === undefined) return step;
    return this.#answered && !this.#mayEqual(given.since) ? step : wait(codes.unseen, fast);
  }

  /**
   * Whether the kubelet, which notices within a minute that we are ready, might note the very
   * second of `since`. A clock that was set back further would take hours to pass it, and cannot
   * meet it. Of a text that is no time, no second is known.
   */
  #mayEqual(since: string): boolean {
    const ahead = Math.floor(Date.parse(since) / 1000) - Math.floor(this.#now() / 1000);
    return ahead >= 0 && ahead < noticedWithin;
  }
}

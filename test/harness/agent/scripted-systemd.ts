/**
 * A fake of org.freedesktop.systemd1 with one unit that follows a script, and a fake of the
 * kubelet's healthz. Tests use it for cases that the real systemd does not produce on demand. The
 * cluster tests use the real systemd.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Message, Variant } from "dbus-next";
import { servePrivately, type Wire } from "./private-socket.ts";

const name = "org.freedesktop.systemd1";
const path = "/org/freedesktop/systemd1";

export type ScriptedRestart = Readonly<{
  /** The result of the job. If absent, the job never ends. */
  job?: string;
  /** Milliseconds until the job is removed, or a promise for which the job waits. */
  takes?: number | Promise<void>;
  /** The state of the unit afterwards. */
  after: "running" | "failed" | "inactive" | "unchanged";
  /** Whether the new process answers healthz; default: yes if it runs. */
  healthy?: boolean;
  /** If set, the fake only answers RestartUnit with this D-Bus error. */
  error?: string;
  /** If true, the fake sends JobRemoved before its reply to RestartUnit. */
  signalFirst?: boolean;
  /** How many jobs of another unit end before this job; default: one. */
  otherJobs?: number;
}>;

export const comesBack: ScriptedRestart = { job: "done", after: "running" };
/** The unit's process dies, and systemd does not start the unit again. */
export const crashes: ScriptedRestart = { job: "done", after: "failed" };

/**
 * Every result that a job can have (org.freedesktop.systemd1(5), JobRemoved), and an unknown result
 * of a future systemd.
 */
export const jobResults = [
  "done",
  "canceled",
  "timeout",
  "failed",
  "dependency",
  "skipped",
  "invalid",
  "assert",
  "unsupported",
  "collected",
  "once",
  "never heard of",
] as const;

/** A call that is part of each observation of the unit. */
export const questioned = "Get LoadState";

export class ScriptedSystemd implements AsyncDisposable {
  /** The name of the unit. Every other unit is absent unless it is in `others`. */
  unit = "kubelet.service";
  /** Unit → its ActiveState. */
  readonly others = new Map<string, string>();
  /** Properties that this systemd does not have, because it is too old. */
  readonly unknown = new Set<string>();
  load = "loaded";
  active = "active";
  sub = "running";
  result = "success";
  invocation = randomBytes(16);
  mainPid = 1000;
  /** Microseconds of CLOCK_MONOTONIC at which the process was started. */
  startedMicros = 1_000_000n;
  restarts = 0;
  /** A counter, used in place of the time at which the state last changed. */
  changes = 1n;
  /** Id of another client's job that is queued or runs for the unit; 0: none. */
  job = 0;
  healthy = true;
  /** The number of requests to healthz. The agent sends one request for each check. */
  rounds = 0;
  startLimitMicros = 0n;
  canStart = true;
  canStop = true;
  /**
   * Methods called, in order, such as `RestartUnit`, `Get LoadState` or `Get LoadState of another`.
   */
  readonly calls: string[] = [];
  readonly restarted: string[] = [];
  /** The results of the next restarts. The last result is used for all further restarts. */
  script: ScriptedRestart[] = [comesBack];
  /** If set, replaces `script`: called for each requested restart, returns its result. */
  outcome: (() => ScriptedRestart) | undefined;
  /** Methods that the fake never answers. */
  readonly silent = new Set<string>();
  /** Called for each of `calls`, before it is answered. */
  onCall: (call: string) => void = () => {};
  #job = 0;
  #wire: Wire | undefined;
  readonly #healthz: Server;

  private constructor(healthz: Server) {
    this.#healthz = healthz;
  }

  /** Starts the fake at its own socket in `directory`. */
  static async start(directory: string): Promise<ScriptedSystemd> {
    const healthz = createServer((_request, response) => {
      fake.rounds += 1;
      const up = fake.active === "active" && fake.healthy;
      // A kubelet that is down has no open port. The fake cannot close its port, therefore it
      // closes each connection.
      if (fake.active !== "active") return void response.destroy();
      response.writeHead(up ? 200 : 500).end("ok");
    });
    healthz.listen(0, "127.0.0.1");
    await once(healthz, "listening");
    const fake = new ScriptedSystemd(healthz);
    fake.#wire = await servePrivately(directory, (call) => void fake.#answer(call));
    return fake;
  }

  /** If true, the fake of systemd stops reading. The fake of healthz continues to answer. */
  freeze(isFrozen: boolean): void {
    this.#wire?.freeze(isFrozen);
  }

  /**
   * Closes all connections and accepts no new ones, like a systemd that re-executes itself. healthz
   * still answers.
   */
  die(): void {
    this.#wire?.die();
  }

  get healthzPort(): number {
    return (this.#healthz.address() as AddressInfo).port;
  }

  get restartCalls(): number {
    return this.calls.filter((call) => call === "RestartUnit").length;
  }

  /** Acts as if another client had started the unit: a new process and a new InvocationID. */
  started(healthy = true): void {
    this.invocation = randomBytes(16);
    this.mainPid += 1;
    this.startedMicros = process.hrtime.bigint() / 1000n;
    this.changes += 1n;
    [this.active, this.sub, this.result] = ["active", "running", "success"];
    this.healthy = healthy;
  }

  /** Lets the kubelet's process die. `isStarting`: systemd is about to start the unit again. */
  died(isStarting = false): void {
    [this.active, this.sub] = isStarting ? ["activating", "auto-restart"] : ["failed", "failed"];
    this.result = "exit-code";
    this.mainPid = 0;
    this.changes += 1n;
  }

  async #answer(message: Message): Promise<void> {
    const { member } = message;
    const other =
      unitOf(message.path ?? "") === this.unit || message.path === path ? "" : " of another";
    const call = member === "Get" ? `Get ${message.body[1]}${other}` : member;
    this.calls.push(call);
    this.onCall(call);
    if (this.silent.has(member)) return;
    const reply = (signature: string, ...body: unknown[]) =>
      this.#wire?.send(Message.newMethodReturn(message, signature, body));
    switch (member) {
      case "ResetFailedUnit":
        return reply("");
      case "Get": {
        const [kind, property] = message.body.map(String) as [string, string];
        if (this.unknown.has(property))
          return this.#wire?.send(
            Message.newError(
              message as never,
              "org.freedesktop.DBus.Error.UnknownProperty",
              property,
            ),
          );
        return reply("v", this.#property(message.path ?? "", kind, property));
      }
      case "RestartUnit":
        return await this.#restart(message, reply);
      default:
        this.#wire?.send(
          Message.newError(message as never, "org.freedesktop.DBus.Error.UnknownMethod", member),
        );
    }
  }

  async #restart(
    message: Message,
    reply: (signature: string, ...body: unknown[]) => void,
  ): Promise<void> {
    this.restarted.push(String(message.body[0]));
    const [next, ...then] = this.script;
    if (then.length > 0) this.script = then;
    const now = this.outcome?.() ?? next;
    if (now === undefined) throw new Error("no script");
    if (now.error !== undefined) {
      this.#wire?.send(Message.newError(message as never, now.error, "scripted"));
      return;
    }
    const job = `${path}/job/${++this.#job}`;
    if (!now.signalFirst) reply("o", job);
    if (now.takes !== undefined) {
      [this.active, this.sub] = ["deactivating", "stop-sigterm"];
      await (typeof now.takes === "number" ? sleep(now.takes) : now.takes);
    }
    if (now.after === "running") this.started(now.healthy ?? true);
    else if (now.after !== "unchanged") {
      this.invocation = randomBytes(16);
      this.died();
      if (now.after === "inactive")
        [this.active, this.sub, this.result] = ["inactive", "dead", "success"];
    }
    if (now.job !== undefined) {
      // Sends the jobs of another unit first, because the agent must wait for its own job.
      const other = [`${path}/job/9999`, "other.service", "failed"] as const;
      const others = Array.from({ length: now.otherJobs ?? 1 }, () => other);
      for (const [id, unit, result] of [...others, [job, this.unit, now.job] as const])
        this.#wire?.send(
          Message.newSignal(path, `${name}.Manager`, "JobRemoved", "uoss", [
            this.#job,
            id,
            unit,
            result,
          ]),
        );
    }
    if (now.signalFirst) reply("o", job);
  }

  #property(of: string, kind: string, property: string): Variant {
    const asked = unitOf(of);
    if (asked !== this.unit) {
      const activeState = this.others.get(asked);
      const other = {
        LoadState: activeState === undefined ? "not-found" : "loaded",
        ActiveState: activeState ?? "inactive",
      };
      if (property === "LoadState" || property === "ActiveState")
        return new Variant("s", other[property]);
    }
    const variant = (kind === `${name}.Unit` ? this.#unit() : this.#service())[property];
    if (variant === undefined) throw new Error(`no script for ${kind}.${property}`);
    return variant;
  }

  #unit(): Record<string, Variant> {
    return {
      StateChangeTimestampMonotonic: new Variant("t", this.changes),
      LoadState: new Variant("s", this.load),
      ActiveState: new Variant("s", this.active),
      SubState: new Variant("s", this.sub),
      InvocationID: new Variant("ay", this.invocation),
      Job: new Variant("(uo)", [this.job, "/"]),
      StartLimitIntervalUSec: new Variant("t", this.startLimitMicros),
      CanStart: new Variant("b", this.canStart),
      CanStop: new Variant("b", this.canStop),
    };
  }

  #service(): Record<string, Variant> {
    return {
      Result: new Variant("s", this.result),
      MainPID: new Variant("u", this.mainPid),
      ExecMainStartTimestampMonotonic: new Variant("t", this.startedMicros),
      NRestarts: new Variant("u", this.restarts),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#wire?.close();
    this.#healthz.close();
    this.#healthz.closeAllConnections();
    await Promise.resolve();
  }
}

function unitOf(object: string): string {
  return object
    .slice(object.lastIndexOf("/") + 1)
    .replace(/_([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

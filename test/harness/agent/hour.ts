/**
 * Simulates an hour with a kubelet that does not start while its file has the new credential, and
 * an hour with a kubelet that never starts again after it was stopped. The agent's real observe,
 * decide and execute run on a directory. Only systemd, healthz and the clock are fakes, therefore
 * an hour takes a second.
 */
import { act } from "#agent/execute.ts";
import { parseConfig } from "#agent/facts/config.ts";
import type { Healthz } from "#agent/facts/facts.ts";
import { Observer } from "#agent/observer.ts";
import { bootTime, History } from "#agent/observe/stopwatch.ts";
import type { Systemd } from "#agent/systemd/systemd.ts";
import type { Unit } from "#agent/systemd/unit.ts";
import { NodeDirectory } from "./agent.ts";

const hour = 3_600_000;
/** Milliseconds of the agent's shortest wait when its step is `back off`. */
const retry = 1000;

/** The condition under which the kubelet fails to start. */
type Fails = "with the file" | "always";

/**
 * `calls`: restarts that the agent requested. `down`: 1 if the kubelet is down at the end.
 * `downSeconds`: seconds without a kubelet in the whole hour.
 */
type Hour = Readonly<{ calls: number; down: 0 | 1; downSeconds: number }>;

/** Runs the agent for an hour beside a kubelet that fails in this way. */
export async function anHour(fails: Fails): Promise<Hour> {
  using node = new NodeDirectory();
  node.mount(1, { additional: { "private.example": "one" } });
  const fake = new FakeKubelet(node, fails);
  node.ask(1);
  await life(node, fake, fake.clock + hour);
  return { calls: fake.calls, down: fake.runs ? 0 : 1, downSeconds: fake.down / 1000 };
}

/** Runs the agent until the time is over. */
async function life(node: NodeDirectory, fake: FakeKubelet, end: number): Promise<void> {
  const directories = { secret: node.secret, kubelet: node.kubelet };
  const flags = Object.entries(directories).map(([name, path]) => `--${name}-directory=${path}`);
  const parsed = parseConfig(flags, {
    NODE_NAME: "node1",
    KUBERNETES_SERVICE_HOST: "::1",
    KUBERNETES_SERVICE_PORT: "1",
  });
  if (!parsed.ok) throw new Error(parsed.errors.join("\n"));
  const config = parsed.value;
  const now = () => fake.clock;
  const history = new History(now);
  const healthz = async (): Promise<Healthz> => (fake.runs ? "answers" : "silent");
  const lock = { release: () => {} };
  const unsaved = () => {};
  const hands = { config, systemd: fake.systemd, history, lock, unsaved };
  const acquire = async () => true;
  const seen = () => node.seen();
  const leaseRenewed = async () => now();
  const observer = new Observer({
    ...hands,
    elsewhere: () => undefined,
    leaseRenewed,
    healthz,
    acquire,
    seen,
    now,
    clock: now,
    bootTime,
  });
  while (fake.clock < end) {
    const step = await observer.next();
    await act(step, hands);
    fake.pass(step.again === "back off" ? retry : step.again);
  }
}

/**
 * A fake kubelet that runs until its first restart. Then systemd starts it again and again.
 * Depending on `fails`, a start fails only while the kubelet's file contains the new entry, or
 * always.
 */
class FakeKubelet {
  clock = 1_000_000 * hour;
  calls = 0;
  /** Milliseconds without a kubelet. */
  down = 0;
  #invocation = 1;
  #up = true;
  /** Restarts by systemd since the last request. */
  #restarts = 0;
  readonly #node: NodeDirectory;
  readonly #fails: Fails;

  constructor(node: NodeDirectory, fails: Fails) {
    this.#node = node;
    this.#fails = fails;
  }

  get runs(): boolean {
    return this.#up;
  }

  pass(milliseconds: number): void {
    // At least 1 ms, so that time passes even if the next check is due at once.
    const passed = Math.max(1, milliseconds);
    this.clock += passed;
    if (this.#up) return;
    this.down += passed;
    this.#restarts += 1;
    this.#start();
  }

  readonly systemd: Systemd = {
    unit: async () => this.#unit(),
    states: async () => [this.#unit()],
    resetFailed: async () => {},
    restart: async (_unit, recorded) => {
      await recorded();
      this.calls += 1;
      this.#restarts = 0;
      this.#start();
      return { result: "done" };
    },
    disconnect: () => {},
  };

  #start(): void {
    this.#invocation += 1;
    const { file = "" } = this.#node;
    this.#up = this.#fails === "with the file" && !file.includes("private.example");
  }

  #unit(): Unit {
    return {
      name: "kubelet.service",
      load: "loaded",
      active: this.#up ? "active" : "activating",
      sub: this.#up ? "running" : "auto-restart",
      invocation: this.#invocation.toString(16).padStart(32, "0"),
      busy: false,
      mainPid: this.#up ? 1000 : 0,
      started: 0,
      restarts: this.#restarts,
      result: this.#up ? "success" : "exit-code",
      refuses: false,
      startLimit: 10_000,
      restartDelay: 1000,
    };
  }
}

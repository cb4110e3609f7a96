/**
 * The agent as it is deployed: a process of the bundle, with the DaemonSet's flags and environment,
 * as root without capabilities if the tests run as root. It has its own directories and its own
 * socket of systemd.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Result } from "#contract/order.ts";
import { agentBundle, environment, nodeFlags, withoutCapabilities } from "./deployed.ts";
import { type NodeDirectory, podUid } from "./node-directory.ts";
import { inTime } from "./waiting.ts";

export type AgentOptions = Readonly<{
  /**
   * The revision that is ordered before the agent starts; 0: none. If absent, the node's order
   * stays unchanged.
   */
  revision?: number;
  healthzPort: number;
  flags?: readonly string[];
  /** A program and its arguments that run the agent, such as strace. */
  under?: readonly string[];
  /** Flags of Node itself, in addition to the DaemonSet's flags. */
  nodeFlags?: readonly string[];
  /** Replaces the agent's bundle. */
  program?: string;
  /**
   * The order's digest. By default the digest of the content that was last mounted for the
   * revision.
   */
  digest?: string;
}>;

/**
 * Adds a probation of `seconds`, unless the test's flags have one, because the agent accepts each
 * flag only once.
 */
export function withProbation(seconds: number, flags: readonly string[]): readonly string[] {
  return flags.some((flag) => flag.startsWith("--probation="))
    ? flags
    : [`--probation=${seconds}s`, ...flags];
}

/** The agent's API server, the directory with its token, and the name of its node. */
type Connected = Readonly<{ host: string; port: number; credentials: string; name?: string }>;

/** Starts the agent's bundle on the node's directories, as the DaemonSet starts it. */
export async function launchAgent(
  node: NodeDirectory,
  { host, port, credentials, name = "node1" }: Connected,
  options: Omit<AgentOptions, "revision" | "digest">,
): Promise<ChildProcess> {
  const [command = "", ...args] = [
    ...(options.under ?? []),
    ...withoutCapabilities,
    process.execPath,
    ...nodeFlags(node, credentials),
    ...(options.nodeFlags ?? []),
    options.program ?? (await agentBundle()),
    `--secret-directory=${node.secret}`,
    `--kubelet-directory=${node.kubelet}`,
    `--systemd-directory=${node.systemd}`,
    `--credentials-directory=${credentials}`,
    `--mountinfo=${node.mountinfo}`,
    `--healthz-port=${options.healthzPort}`,
    ...withProbation(1, options.flags ?? node.flags),
  ];
  const address = { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: `${port}` };
  const env = { ...process.env, ...environment, ...address, NODE_NAME: name, POD_UID: podUid };
  return spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
}

export class AgentProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  output = "";
  readonly #node: NodeDirectory;
  /** The length of the log up to the line that was seen last. */
  #seen = 0;

  private constructor(child: ChildProcess, node: NodeDirectory) {
    this.child = child;
    this.#node = node;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
  }

  static async start(node: NodeDirectory, options: AgentOptions): Promise<AgentProcess> {
    const api = await node.connected();
    const { revision, digest } = options;
    node.isFor(options.flags ?? node.flags);
    if (revision !== undefined) node.ask(revision, { ...(digest !== undefined && { digest }) });
    return new AgentProcess(await launchAgent(node, api, options), node);
  }

  /**
   * Waits for a line of the log that contains `text` and comes after the last line that a call
   * returned. Returns the line.
   */
  async shows(text: string | RegExp, within = 15_000): Promise<string> {
    const isThis = (candidate: string) =>
      typeof text === "string" ? candidate.includes(text) : text.test(candidate);
    let line: string | undefined;
    const isSeen = () => {
      const unseen = this.output.slice(this.#seen);
      line = unseen.split("\n").find(isThis);
      if (line !== undefined) this.#seen += unseen.indexOf(line) + line.length;
      return line !== undefined;
    };
    if (!(await inTime(isSeen, within))) throw new Error(`no ${text} in the log\n${this.output}`);
    return line ?? "";
  }

  /** Waits until the agent has reported that the ordered content is proved. */
  proves(within?: number): Promise<void> {
    return this.#shownAs("Proved", "GPS200", within);
  }

  /** Waits until the agent has reported that everything of ours is removed. */
  removes(within?: number): Promise<void> {
    return this.#shownAs("Removed", "GPS224", within);
  }

  /** Waits until the agent has reported that the order failed. */
  fails(within?: number): Promise<void> {
    return this.#shownAs("Failed", "GPS218", within);
  }

  /** Waits until the log shows the code, and then until the last report has this result. */
  async #shownAs(result: Result, code: string, within?: number): Promise<void> {
    await this.shows(code, within);
    await this.reports(result, within);
  }

  /**
   * Waits until the last report has this result. If content is ordered, the report must be about
   * it, except the report of a withdrawal. An agent that stays logs at most one line a minute, so
   * tests of many changes cannot wait for the log.
   */
  async reports(result: Result, within?: number): Promise<void> {
    const { order, api } = this.#node;
    const isReported = () => {
      const report = api?.reports.at(-1);
      const isAnswer = order === undefined || report?.attempt === order.attempt;
      return report?.result === result && (isAnswer || result === "Removed");
    };
    if (!(await inTime(isReported, within)))
      throw new Error(`not ${result} but ${JSON.stringify(api?.reports.at(-1))}\n${this.output}`);
  }

  /** The exit code, or the signal's name. Throws if the agent runs longer than `within` (ms). */
  async ended(within?: number): Promise<number | string> {
    const { child } = this;
    const bound = within === undefined ? {} : { signal: AbortSignal.timeout(within) };
    if (child.exitCode === null && child.signalCode === null)
      await once(child, "exit", bound).catch((cause: unknown) => {
        throw new Error(`the agent goes on\n${this.output}`, { cause });
      });
    return child.exitCode ?? child.signalCode ?? "";
  }

  async end(signal: NodeJS.Signals): Promise<number | string> {
    this.child.kill(signal);
    return await this.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

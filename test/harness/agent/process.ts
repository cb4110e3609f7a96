/**
 * The agent as it is deployed: a process of the bundle, with the DaemonSet's flags and environment,
 * as root without capabilities if the tests run as root. It has its own directories and its own
 * socket of systemd.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { freePort } from "#test/free-port.ts";
import { agentBundle, environment, nodeFlags, withoutCapabilities } from "./deployed.ts";
import type { NodeDirectory } from "./node-directory.ts";
import { inTime } from "./waiting.ts";

/** Readiness. `5nn` means not ready: the status is 500 + nn if the body begins with GPS2nn. */
export type ProbeAnswer = 200 | "5nn";

export function isAnswer(expected: ProbeAnswer, status: number, body: string): boolean {
  if (expected === 200) return status === 200;
  return status === 500 + Number(/^GPS2(\d\d) /.exec(body)?.[1]);
}

export type AgentOptions = Readonly<{
  /**
   * The revision that is granted before the agent starts. If absent, the node's grant stays
   * unchanged.
   */
  revision?: number;
  healthzPort: number;
  flags?: readonly string[];
  /** A program and its arguments that run the agent, such as strace. */
  under?: readonly string[];
  /** Flags of Node itself, in addition to the DaemonSet's flags. */
  nodeFlags?: readonly string[];
  probePort?: number;
  /** Replaces the agent's bundle. */
  program?: string;
  /**
   * The grant's digest. By default the digest of the content that was last mounted for the
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

export class AgentProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly port: number;
  output = "";

  private constructor(child: ChildProcess, port: number) {
    this.child = child;
    this.port = port;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.output += text));
  }

  static async start(node: NodeDirectory, options: AgentOptions): Promise<AgentProcess> {
    const port = options.probePort ?? (await freePort());
    const [command = "", ...args] = [
      ...(options.under ?? []),
      ...withoutCapabilities,
      process.execPath,
      ...nodeFlags(node),
      ...(options.nodeFlags ?? []),
      options.program ?? (await agentBundle()),
      `--secret-directory=${node.secret}`,
      `--kubelet-directory=${node.kubelet}`,
      `--systemd-directory=${node.systemd}`,
      `--termination-log=${node.terminationLog}`,
      `--pod-directory=${node.pod}`,
      `--probe-port=${port}`,
      `--healthz-port=${options.healthzPort}`,
      ...withProbation(1, options.flags ?? node.flags),
    ];
    const { revision, digest } = options;
    node.isFor(options.flags ?? node.flags);
    if (revision !== undefined) node.grant(revision, { ...(digest !== undefined && { digest }) });
    const env = { ...process.env, ...environment, NODE_NAME: "node1" };
    return new AgentProcess(spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] }), port);
  }

  /**
   * Returns status and body of the readiness probe. The status is 0 if no agent answers within 2 s.
   */
  probe(query = ""): Promise<{ status: number; body: string }> {
    const { promise, resolve: answer } = Promise.withResolvers<{ status: number; body: string }>();
    const asking = request(
      {
        host: "127.0.0.1",
        port: this.port,
        path: `/readyz${query}`,
        agent: false,
        signal: AbortSignal.timeout(2000),
      },
      (response) => {
        let body = "";
        response.on("data", (data) => (body += String(data)));
        response.on("end", () => answer({ status: response.statusCode ?? 0, body }));
      },
    );
    asking.on("error", () => answer({ status: 0, body: "" }));
    asking.end();
    return promise;
  }

  /** Waits until readiness has this status, and its body contains `text`. */
  async shows(status: ProbeAnswer, text = "", within = 15_000): Promise<string> {
    let last = "";
    const seen = await inTime(async () => {
      const { status: now, body } = await this.probe();
      last = `${now} ${body}`;
      return isAnswer(status, now, body) && body.includes(text);
    }, within);
    if (!seen) throw new Error(`readiness is not ${status} ${text} but ${last}\n${this.output}`);
    return last;
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

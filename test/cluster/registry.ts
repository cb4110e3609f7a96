/**
 * Two real registries (distribution) in the hub: one with a password, one without.
 *
 * Nodes reach them by name, through containerd's hosts.toml; the machine reaches them by address.
 * So an image has the same name in every cluster: `registry.example/team/app:1`.
 */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./await.ts";
import { startDaemon } from "./host/daemon.ts";
import { inNamespace, type Network } from "./host/network.ts";
import type { Parts } from "./kit/parts.ts";
import { directEnvironment, run } from "./run.ts";

/** Requires a password. */
const privateRegistry = "registry.example";
/**
 * Requires no password. Contains the image of the pods' sandbox, and our own image: pulling our
 * image must not require the credential that our agents deliver.
 */
export const publicRegistry = "public.example";

/** The names that nodes use, with the hub's port. */
export const registryPorts = { [privateRegistry]: 5000, [publicRegistry]: 5001 } as const;

/** Users of the private registry. Each is allowed to pull everything. */
const userNames = ["original", "additional", "pusher"] as const;
export type UserName = (typeof userNames)[number];

/** New passwords, long enough to search for them in logs. */
export function newPasswords(): Record<UserName, string> {
  return Object.fromEntries(
    userNames.map((user) => [user, randomBytes(18).toString("base64url")]),
  ) as Record<UserName, string>;
}

/** A request that the private registry allowed, from its log. */
export type LoggedRequest = Readonly<{ time: string; user: string; method: string; path: string }>;

export class Registry {
  /** The private registry's name in image references and pull secrets. */
  readonly host = privateRegistry;
  /** The name of the registry that requires no password. */
  readonly publicHost = publicRegistry;
  /** The private registry's address for this machine: IP:port, plain HTTP. */
  readonly address: string;
  /** The machine's address, which nodes reach. */
  readonly machine: string;
  readonly publicAddress: string;
  readonly #parts: Parts;
  readonly #directory: string;
  #users: Record<string, string>;

  constructor(
    parts: Parts,
    directory: string,
    network: Network,
    users: Readonly<Record<string, string>>,
  ) {
    this.#parts = parts;
    this.#directory = directory;
    this.#users = { ...users };
    this.machine = network.machine;
    this.address = `${network.hub}:${registryPorts[privateRegistry]}`;
    this.publicAddress = `${network.hub}:${registryPorts[publicRegistry]}`;
  }

  /** The current accounts and their passwords. */
  get users(): Readonly<Record<string, string>> {
    return this.#users;
  }

  /** A user's entry in an `auths` map: `{"auth": base64 of user:password}`. */
  auth(user: UserName): { auth: string } {
    return { auth: Buffer.from(`${user}:${this.#users[user]}`).toString("base64") };
  }

  /** A pull secret's document with one user for the private registry. */
  document(user: UserName): string {
    return JSON.stringify({ auths: { [this.host]: this.auth(user) } });
  }

  /**
   * Changes the accounts; the registry reads them at its next request. The registry refuses a user
   * without a password.
   */
  async setUsers(users: Readonly<Record<string, string>>): Promise<void> {
    const lines = await Promise.all(
      Object.entries(users).map(async ([user, password]) => `${user}:${await bcrypt(password)}\n`),
    );
    this.#users = { ...users };
    writeFileSync(join(this.#directory, "htpasswd"), lines.join(""), { mode: 0o600 });
  }

  /**
   * Pushes an OCI layout or tarball as `repository:tag` to the private registry, or to the registry
   * that `to` names. Returns the reference for pods.
   */
  async push(
    image: string,
    reference: string,
    to: keyof typeof registryPorts = privateRegistry,
  ): Promise<string> {
    const address = to === privateRegistry ? this.address : this.publicAddress;
    const crane = this.#parts.path("crane");
    // crane reads passwords only from a Docker configuration.
    const env = directEnvironment({ DOCKER_CONFIG: this.#directory });
    writeFileSync(
      join(this.#directory, "config.json"),
      JSON.stringify({ auths: { [this.address]: this.auth("pusher") } }),
      { mode: 0o600 },
    );
    await run([crane, "push", "--insecure", image, `${address}/${reference}`], { env });
    return `${to}/${reference}`;
  }

  /**
   * The requests that the private registry allowed, oldest first. They show which user's credential
   * a node used.
   */
  accesses(): LoggedRequest[] {
    const log = join(this.#directory, `${privateRegistry}.log`);
    if (!existsSync(log)) return [];
    return readFileSync(log, "utf8")
      .split("\n")
      .flatMap((line) => {
        if (!line.includes("authorized request")) return [];
        const entry = JSON.parse(line) as Record<string, string>;
        const [time = "", user = ""] = [entry["time"], entry["auth.user.name"]];
        const [path = ""] = entry["http.request.uri"]?.split("?") ?? [];
        return [{ time, user, method: entry["http.request.method"] ?? "", path }];
      });
  }
}

/** Starts both registries and returns once they answer. */
export async function startRegistries(
  parts: Parts,
  directory: string,
  network: Network,
  groups: readonly string[],
  registry: Registry,
): Promise<void> {
  await registry.setUsers(registry.users);
  for (const [name, port] of Object.entries(registryPorts)) {
    const htpasswd = { realm: name, path: join(directory, "htpasswd") };
    const config = {
      version: "0.1",
      log: { formatter: "json", level: "info", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(directory, name) }, delete: { enabled: true } },
      http: { addr: `${network.hub}:${port}`, secret: randomBytes(16).toString("hex") },
      ...(name === privateRegistry ? { auth: { htpasswd } } : {}),
    };
    const file = join(directory, `${name}.json`); // JSON is YAML
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    const { check } = startDaemon({
      name,
      argv: inNamespace(network, "hub", [parts.path("registry"), "serve", file]),
      groups,
      log: join(directory, `${name}.log`),
      env: { OTEL_TRACES_EXPORTER: "none" },
    });
    await until(`${name} answers`, async () => {
      check();
      return [200, 401].includes((await fetch(`http://${network.hub}:${port}/v2/`)).status);
    });
  }
}

/**
 * bcrypt is the only hash that the registry accepts. Its cost is 5, because the registry computes
 * it at every request. perl's crypt supports bcrypt, openssl does not.
 */
export async function bcrypt(password: string): Promise<string> {
  const salt = randomBytes(16).toString("hex").slice(0, 22);
  const script =
    'chomp(my ($salt, $password) = <STDIN>); print crypt($password, "\\$2b\\$05\\$$salt")';
  return await run(["perl", "-e", script], { input: `${salt}\n${password}\n` });
}

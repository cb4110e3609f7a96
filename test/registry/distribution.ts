/** A real registry (distribution) on loopback, with Basic or with a token service of its own. */
import assert from "node:assert/strict";
import {
  createHash,
  generateKeyPairSync,
  randomBytes,
  sign,
  type JsonWebKey,
  type KeyObject,
} from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { respond, serve, type ServedRegistry } from "#registry/server.fixture.ts";
import { until } from "../cluster/await.ts";
import { buildParts } from "../cluster/kit/parts.ts";
import { startProgram } from "../cluster/program.ts";
import { bcrypt } from "../cluster/registry.ts";
import { freePort } from "../free-port.ts";

/** User → password, and the repositories that a token service lets the user pull. */
export type Accounts = Readonly<
  Record<string, Readonly<{ password: string; repositories: readonly string[] }>>
>;

type Registry = Readonly<{
  host: string;
  /** Pushes an image as `repository:1`. */
  push: (repository: string) => Promise<void>;
}> &
  AsyncDisposable;

/** Starts a registry that requires a user's password (htpasswd). Each user may pull everything. */
export async function startBasic(folder: string, accounts: Accounts): Promise<Registry> {
  const pusher = { password: randomBytes(9).toString("hex"), repositories: [] };
  const lines = Object.entries({ ...accounts, pusher }).map(
    async ([user, { password }]) => `${user}:${await bcrypt(password)}\n`,
  );
  const path = join(folder, "htpasswd");
  writeFileSync(path, (await Promise.all(lines)).join(""));
  const basic = `Basic ${Buffer.from(`pusher:${pusher.password}`).toString("base64")}`;
  const registry = await start(folder, { htpasswd: { realm: "test", path } });
  return { ...registry, push: (repository) => push(registry.host, repository, basic) };
}

/**
 * Starts a registry with a token service, which grants each user the pull of its repositories, and
 * a login to every user with the right password.
 */
export async function startToken(folder: string, accounts: Accounts): Promise<Registry> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { ...publicKey.export({ format: "jwk" }), kid: "test", alg: "ES256", use: "sig" };
  const jwks = join(folder, "jwks.json");
  writeFileSync(jwks, JSON.stringify({ keys: [key satisfies JsonWebKey] }));
  const service: ServedRegistry = await serve(({ url, authorization }, response) => {
    const [user = "", password = ""] = fromBasic(authorization);
    const account = accounts[user];
    if (account?.password !== password) return respond(response, 401);
    const { searchParams } = new URL(url, "http://service");
    const access = searchParams.getAll("scope").map((scope) => {
      const [type = "", name = "", actions = ""] = scope.split(":");
      return { type, name, actions: account.repositories.includes(name) ? actions.split(",") : [] };
    });
    respond(response, 200, {}, JSON.stringify({ token: tokenFor(user, access, privateKey) }));
  });
  const realm = `http://${service.host}/token`;
  const registry = await start(folder, {
    token: { realm, service: "registry", issuer: "test", jwks },
  });
  return {
    host: registry.host,
    push: (repository) => {
      const access = [{ type: "repository", name: repository, actions: ["pull", "push"] }];
      return push(registry.host, repository, `Bearer ${tokenFor("pusher", access, privateKey)}`);
    },
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

async function start(folder: string, auth: object) {
  const host = `127.0.0.1:${await freePort()}`;
  const config = {
    version: "0.1",
    log: { accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "images") } },
    http: { addr: host, secret: randomBytes(16).toString("hex") },
    auth,
  };
  const file = join(folder, "registry.json"); // JSON is YAML
  writeFileSync(file, JSON.stringify(config));
  const { path } = await buildParts();
  const program = startProgram([path("registry"), "serve", file], { OTEL_TRACES_EXPORTER: "none" });
  await until("the registry answers", async () => {
    if (program.exited() !== undefined) throw new Error(program.output());
    return (await fetch(`http://${host}/v2/`).catch(() => undefined))?.status === 401;
  });
  return { host, [Symbol.asyncDispose]: async () => void (await program.stop()) };
}

/** Pushes an image without layers as `repository:1`. */
async function push(host: string, repository: string, authorization: string): Promise<void> {
  const send = async (url: URL, method: string, body = "", type = "application/octet-stream") => {
    const headers = { authorization, "content-type": type };
    const response = await fetch(url, { method, headers, ...(body !== "" && { body }) });
    assert.ok(response.ok, `${method} ${url.pathname}: ${response.status}`);
    return response;
  };
  const root = new URL(`http://${host}/v2/${repository}/`);
  const upload = await send(new URL("blobs/uploads/", root), "POST");
  const blob = new URL(upload.headers.get("location") ?? "", root);
  const digest = `sha256:${createHash("sha256").update("{}").digest("hex")}`;
  blob.searchParams.set("digest", digest);
  await send(blob, "PUT", "{}");
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest, size: 2 };
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, config, layers: [] });
  await send(new URL("manifests/1", root), "PUT", manifest, mediaType);
}

function tokenFor(user: string, access: readonly object[], key: KeyObject): string {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    iss: "test",
    sub: user,
    aud: "registry",
    nbf: now - 60,
    exp: now + 60,
    iat: now,
  };
  const body = `${encode({ typ: "JWT", alg: "ES256", kid: "test" })}.${encode({ ...claims, access })}`;
  const signature = sign("sha256", Buffer.from(body), { key, dsaEncoding: "ieee-p1363" });
  return `${body}.${signature.toString("base64url")}`;
}

const fromBasic = (authorization: string): readonly string[] =>
  Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");

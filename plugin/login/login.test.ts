import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import type { ServerResponse } from "node:http";
import { Credential } from "#pullsecret/document/auth.ts";
import {
  challengesIn,
  hostToAsk,
  logInToAll,
  reasonOf,
  schemesOf,
  type LoginOutcome,
} from "./login.ts";
import { respond, serve, type ReceivedRequest } from "./server.fixture.ts";

const password = "pl4nted-s3cret";
const credential = new Credential("robot", password);
const basic = `Basic ${credential.encode()}`;
const planted = [password, credential.encode()];

async function logIn(registry: string, seconds = 5): Promise<LoginOutcome> {
  const [outcome] = await logInToAll([{ registry, credential }], seconds);
  assert.ok(outcome !== undefined);
  for (const secret of planted) assert.ok(!JSON.stringify(outcome).includes(secret), outcome.why);
  return outcome;
}

type Answer = (asked: ReceivedRequest, response: ServerResponse, host: string) => void;

/** A registry whose token service is at the same address. */
const tokens =
  (grant: (asked: ReceivedRequest) => readonly [status: number, body: string]): Answer =>
  (asked, response, host) => {
    if (asked.url.startsWith("/token")) {
      const [status, body] = grant(asked);
      return respond(response, status, {}, body);
    }
    if (asked.authorization === "Bearer t0ken") return respond(response, 200);
    const realm = `Bearer realm="http://${host}/token",service="the registry"`;
    respond(response, 401, { "www-authenticate": realm });
  };

const asksFor =
  (challenge: string): Answer =>
  ({ authorization }, response) =>
    respond(response, authorization === basic ? 200 : 401, { "www-authenticate": challenge });

const always =
  (status: number, headers: Readonly<Record<string, string>> = {}, body = ""): Answer =>
  (_, response) =>
    respond(response, status, headers, body);

/** A token service whose answer never ends. */
const endless: Answer = (asked, response, host) => {
  if (!asked.url.startsWith("/token")) return tokens(() => [200, ""])(asked, response, host);
  response.writeHead(200);
  const more = () => {
    while (!response.destroyed && response.write("x".repeat(16_384)));
  };
  response.on("drain", more);
  more();
};

const cases: readonly (readonly [
  what: string,
  answer: Answer,
  outcome: LoginOutcome["answer"],
  why: RegExp,
])[] = [
  ["accepts Basic", asksFor('Basic realm="x"'), "accepts", /^$/],
  [
    "refuses every credential",
    always(401, { "www-authenticate": "Basic" }),
    "refuses",
    /\/v2\/ answers 401/,
  ],
  ["is public", always(200), "accepts", /requires no credential/],
  ["grants a token", tokens(() => [200, '{"token":"t0ken"}']), "accepts", /^$/],
  ["grants a token as OAuth 2", tokens(() => [200, '{"access_token":"t0ken"}']), "accepts", /^$/],
  ["grants no token", tokens(() => [401, ""]), "refuses", /token service answers 401/],
  [
    "refuses the token that it granted",
    tokens(() => [200, '{"token":"other"}']),
    "refuses",
    /\/v2\/ with a token answers 401/,
  ],
  [
    "grants a token with a line break",
    tokens(() => [200, '{"token":"a\\r\\nb"}']),
    "unreachable",
    /no token$/,
  ],
  ["grants text, not JSON", tokens(() => [200, "<html>"]), "unreachable", /gives no token$/],
  ["grants a JSON list", tokens(() => [200, "[]"]), "unreachable", /gives no token$/],
  ["answers endlessly", endless, "unreachable", /gives no token$/],
  ["answers with 429", tokens(() => [429, ""]), "unreachable", /token service answers 429/],
  ["answers with 500", always(500), "unreachable", /\/v2\/ answers 500/],
  ["is not a registry", always(404), "unreachable", /\/v2\/ answers 404/],
  ["requests an unknown scheme", asksFor("Negotiate"), "unreachable", /neither for Basic nor/],
  [
    "answers 401 without a challenge",
    always(401),
    "unreachable",
    /neither for Basic nor for Bearer/,
  ],
  [
    "names no realm",
    always(401, { "www-authenticate": 'Bearer service="x"' }),
    "unreachable",
    /no valid token service/,
  ],
  [
    "names a realm that is not a web address",
    always(401, { "www-authenticate": 'Bearer realm="file:///etc/passwd"' }),
    "unreachable",
    /no valid token service/,
  ],
  [
    "names a realm with a user",
    always(401, { "www-authenticate": 'Bearer realm="https://me@a.example/"' }),
    "unreachable",
    /no valid token service/,
  ],
  [
    "redirects in a loop",
    ({ url }, response) => respond(response, 302, { location: `${url}x` }),
    "unreachable",
    /redirects again and again/,
  ],
  [
    "redirects to another path of the same host",
    ({ url, authorization }, response) =>
      url === "/v2/"
        ? respond(response, 301, { location: "/v2/here" })
        : respond(response, authorization === basic ? 200 : 401, { "www-authenticate": "Basic" }),
    "accepts",
    /^$/,
  ],
];
for (const [what, answer, outcome, why] of cases)
  test(`reports "${outcome}" for a registry that ${what}`, async () => {
    await using registry = await serve(answer);
    const reported = await logIn(registry.host);
    assert.equal(reported.answer, outcome, reported.why);
    assert.match(reported.why, why);
  });

test("sends the credential to the token service that the challenge names, and the token to the registry", async () => {
  await using registry = await serve(tokens(() => [200, '{"token":"t0ken"}']));
  await logIn(registry.host);
  assert.deepEqual(registry.asked, [
    { url: "/v2/", authorization: "" },
    { url: "/token?service=the+registry", authorization: basic },
    { url: "/v2/", authorization: "Bearer t0ken" },
  ]);
});

test("sends no credential before the registry requests it", async () => {
  await using open = await serve(always(200));
  await logIn(open.host);
  assert.deepEqual(open.asked, [{ url: "/v2/", authorization: "" }]);
});

test("does not follow a redirect to another host", async () => {
  await using other = await serve(always(401, { "www-authenticate": "Basic" }));
  const away = { location: `http://${other.host}/v2/` };
  await using first = await serve(always(307, away));
  await using late = await serve(({ authorization }, response) =>
    authorization === ""
      ? respond(response, 401, { "www-authenticate": "Basic" })
      : respond(response, 307, away),
  );
  for (const { host } of [first, late]) {
    const { answer, why } = await logIn(host);
    assert.equal(answer, "unreachable");
    assert.match(why, /redirects to another host, which gets no credential/);
  }
  assert.deepEqual(other.asked, []);
});

test("sends nothing to a token service without TLS, unless it is local", async () => {
  await using service = await serve(always(200, {}, '{"token":"t0ken"}'));
  // This address leads to the same server, but the plugin does not treat it as an address of this
  // machine.
  const named = service.host.replace("127.0.0.1", "[::ffff:7f00:1]");
  const realm = `Bearer realm="http://${named}/token"`;
  await using registry = await serve(always(401, { "www-authenticate": realm }));
  const { answer, why } = await logIn(registry.host);
  assert.equal(answer, "unreachable");
  assert.match(why, /a token service without TLS, which gets no credential/);
  assert.deepEqual(service.asked, []);
});

test("does not print a credential that the registry sends back", async () => {
  const echo: Answer = ({ authorization }, response) =>
    respond(
      response,
      authorization === "" ? 401 : 500,
      { "www-authenticate": `Basic realm="${authorization}"`, "x-echo": authorization },
      `${authorization} ${password}`,
    );
  await using registry = await serve(echo);
  assert.equal((await logIn(registry.host)).answer, "unreachable");
});

test("stops after the time limit when a registry does not answer", async () => {
  await using registry = await serve(() => {});
  assert.deepEqual(await logIn(registry.host, 0.1), {
    answer: "unreachable",
    why: "no answer in time",
  });
});

test("reports an answer that is not HTTP, and a refused connection", async () => {
  const mail = createServer((socket) => void socket.unref().end("220 mail\r\n")).listen(
    0,
    "127.0.0.1",
  );
  await once(mail, "listening");
  const host = `127.0.0.1:${(mail.address() as AddressInfo).port}`;
  assert.match((await logIn(host)).why, /does not answer in HTTP|ends the connection/);
  mail.close();
  assert.match((await logIn(host)).why, /refuses the connection \(ECONNREFUSED\)/);
});

test("if plain HTTP is not allowed, sends nothing, and reports that the server does not speak TLS", async () => {
  await using registry = await serve(always(200));
  const other = registry.host.replace("127.0.0.1", "[::ffff:7f00:1]");
  assert.match((await logIn(other)).why, /does not speak TLS/);
  assert.deepEqual(registry.asked, []);
});

test("contacts no host for a pattern", async () => {
  assert.equal((await logIn("*.example.com")).answer, "notAsked");
});

type Read = readonly (readonly [scheme: string, parameters: Record<string, string>])[];

const headers: readonly (readonly [header: string, read: Read])[] = [
  ["", []],
  ['Basic realm="registry"', [["basic", { realm: "registry" }]]],
  ["Basic", [["basic", {}]]],
  [
    'Bearer realm="https://auth.example/token",service="a, b",scope="repository:x:pull,push"',
    [
      [
        "bearer",
        {
          realm: "https://auth.example/token",
          service: "a, b",
          scope: "repository:x:pull,push",
        },
      ],
    ],
  ],
  [
    'BASIC Realm=one, bearer  REALM = "two \\" three" , service=s',
    [
      ["basic", { realm: "one" }],
      ["bearer", { realm: 'two " three', service: "s" }],
    ],
  ],
  ['realm="without a scheme"', []],
];
for (const [header, read] of headers)
  test(`reads ${read.map(([scheme]) => scheme).join(" and ") || "no scheme"} from \`${header}\``, () => {
    const challenges = challengesIn(header);
    assert.deepEqual(
      challenges.map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]),
      read,
    );
  });

test("reads a header of 16 KiB without backtracking, even if its parts are unfinished", () => {
  // A regular expression that backtracks would need years to read a header of this length.
  const counts = ['"', "\\", "a=", 'a="', "a ", ",=", 'a="\\'].map((piece) => [
    piece,
    challengesIn(piece.repeat(16_384 / piece.length)).length,
  ]);
  assert.deepEqual(counts, [
    ['"', 0],
    ["\\", 0],
    ["a=", 0],
    ['a="', 1],
    ["a ", 8192],
    [",=", 0],
    ['a="\\', 0],
  ]);
});

const hosts: readonly (readonly [key: string, host: string | undefined])[] = [
  ["quay.io", "quay.io"],
  ["quay.io/team/app", "quay.io"],
  ["https://registry.example:5000/v2/", "registry.example:5000"],
  ["[::1]:5000", "[::1]:5000"],
  ["https://index.docker.io/v1/", "registry-1.docker.io"],
  ["docker.io/team", "registry-1.docker.io"],
  ["*.example.com", undefined],
];
for (const [key, host] of hosts)
  test(`uses ${host ?? "no host"} for ${key}`, () => assert.equal(hostToAsk(key), host));

const routes: readonly (readonly [host: string, schemes: string])[] = [
  ["quay.io", "https"],
  ["quay.io:80", "https"],
  ["plain.example", "https"],
  ["localhost:5000", "https,http"],
  ["127.0.0.1:5000", "https,http"],
  ["127.9.8.7", "https,http"],
  ["[::1]:5000", "https,http"],
  ["127.0.0.1.example", "https"],
  ["localhost.example", "https"],
];
for (const [host, schemes] of routes)
  test(`contacts ${host} over ${schemes}`, () => assert.equal(schemesOf(host).join(), schemes));

const reasons: readonly (readonly [code: string, why: RegExp])[] = [
  ["ENOTFOUND", /^DNS has no such name \(ENOTFOUND\)$/],
  ["EAI_AGAIN", /^DNS does not answer/],
  ["ECONNREFUSED", /^refuses the connection/],
  ["UND_ERR_CONNECT_TIMEOUT", /^no answer in time/],
  ["CERT_HAS_EXPIRED", /^TLS: its certificate is not trusted here \(CERT_HAS_EXPIRED\)$/],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", /^TLS: its certificate/],
  ["SELF_SIGNED_CERT_IN_CHAIN", /^TLS: its certificate/],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /^TLS: its certificate/],
  ["ERR_TLS_CERT_ALTNAME_INVALID", /^TLS: its certificate/],
  ["ERR_SSL_WRONG_VERSION_NUMBER", /^does not speak TLS/],
  ["EPROTO", /^does not speak TLS/],
  ["HPE_INVALID_CONSTANT", /^does not answer in HTTP \(HPE_INVALID_CONSTANT\)$/],
  ["", /^does not answer in HTTP \(unknown error\)$/],
];
for (const [code, why] of reasons)
  test(`gives a reason for ${code || "an error without a code"} without the error's own message`, () => {
    const cause = Object.assign(new Error("s3cret"), { code });
    const reason = reasonOf(new TypeError("fetch failed: s3cret", { cause }));
    assert.match(reason.message, why);
    assert.equal(reason.withoutTls, /does not speak TLS/.test(reason.message));
  });

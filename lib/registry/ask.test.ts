import assert from "node:assert/strict";
import dns from "node:dns";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { test } from "node:test";
import type { ServerResponse } from "node:http";
import { Credential } from "#pullsecret/document/auth.ts";
import type { Entry } from "#pullsecret/document/parse.ts";
import { askAll } from "./ask.ts";
import { planOf, questionsOf, verdictsOf, type Verdict } from "./question.ts";
import { respond, serve, type ReceivedRequest } from "./server.fixture.ts";

const password = "pl4nted-s3cret";
const credential = new Credential("robot", password);
const basic = `Basic ${credential.encode()}`;
const planted = [password, credential.encode()];

async function verify(entries: readonly Entry[], images: readonly string[] = [], seconds = 5) {
  const plan = planOf(entries, images);
  const answers = await askAll(questionsOf(plan), seconds);
  const verified = verdictsOf(plan, (question) => answers.get(question));
  const text = JSON.stringify([[...verified.entries.values()], verified.images]);
  for (const secret of planted) assert.ok(!text.includes(secret), text);
  return verified;
}

async function logIn(registry: string, seconds?: number, isPlain?: true): Promise<Verdict> {
  const entry = { registry, credential, ...(isPlain && { isPlain }) };
  const verdict = (await verify([entry], [], seconds)).entries.get(entry);
  assert.ok(verdict !== undefined);
  return verdict;
}

async function pull(host: string): Promise<Verdict> {
  const [image] = (await verify([{ registry: host, credential }], [`${host}/team/app:1`])).images;
  assert.ok(image !== undefined);
  return image;
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
  (challenge: string, status = 200): Answer =>
  ({ authorization }, response) =>
    respond(response, authorization === basic ? status : 401, { "www-authenticate": challenge });

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

type Row = readonly [
  what: string,
  answer: Answer,
  login: Verdict["answer"],
  pull: Verdict["answer"],
  why: RegExp,
];
const rows: readonly Row[] = [
  ["accepts Basic", asksFor('Basic realm="x"'), "Accepted", "Accepted", /^$/],
  ["denies Basic", always(401, { "www-authenticate": "Basic" }), "Denied", "Denied", /answers 401/],
  ["forbids with Basic", asksFor("Basic", 403), "Denied", "Denied", /the registry answers 403/],
  ["requires no credential", always(200), "Unknown", "Accepted", /requires no credential/],
  ["grants a token", tokens(() => [200, '{"token":"t0ken"}']), "Accepted", "Accepted", /^$/],
  ["grants no token", tokens(() => [401, ""]), "Denied", "Denied", /token service answers 401/],
  ["forbids a token", tokens(() => [403, ""]), "Denied", "Denied", /token service answers 403/],
  [
    "denies the token that it granted",
    tokens(() => [200, '{"token":"other"}']),
    "Denied",
    "Denied",
    /with a token, answers 401/,
  ],
  [
    "grants a token for a login only",
    tokens(({ url }) => (url.includes("scope") ? [403, ""] : [200, '{"token":"t0ken"}'])),
    "Accepted",
    "Denied",
    /^$|token service answers 403/,
  ],
  ["hides its images", asksFor("Basic", 404), "Unknown", "Unknown", /the registry answers 404/],
  ["grants garbage", tokens(() => [200, "<html>"]), "Unknown", "Unknown", /gives no token$/],
  ["answers endlessly", endless, "Unknown", "Unknown", /gives no token$/],
  ["answers 429", tokens(() => [429, ""]), "Unknown", "Unknown", /token service answers 429/],
  ["answers 500", always(500), "Unknown", "Unknown", /answers 500 before any login/],
  ["answers 403 to everyone", always(403), "Unknown", "Unknown", /answers 403 before any login/],
  ["is not a registry", always(404), "Unknown", "Unknown", /answers 404 before any login/],
  ["requests an unknown scheme", asksFor("Negotiate"), "Unknown", "Unknown", /neither for Basic/],
  ["answers 401 without a challenge", always(401), "Unknown", "Unknown", /neither for Basic/],
  [
    "names no token service",
    always(401, { "www-authenticate": "Bearer" }),
    "Unknown",
    "Unknown",
    /no valid token service/,
  ],
  [
    "redirects in a loop",
    ({ url }, response) => respond(response, 302, { location: `${url}x` }),
    "Unknown",
    "Unknown",
    /redirects again and again/,
  ],
  [
    "redirects to another path of the same host",
    (asked, response, host) =>
      asked.url.endsWith("/here")
        ? asksFor("Basic")(asked, response, host)
        : respond(response, 301, { location: `${asked.url}/here` }),
    "Accepted",
    "Accepted",
    /^$/,
  ],
];
for (const [what, answer, login, pulled, why] of rows)
  test(`reports ${login} for a login and ${pulled} for a pull if a registry ${what}`, async () => {
    await using registry = await serve(answer);
    for (const [verdict, expected] of [
      [await logIn(registry.host), login],
      [await pull(registry.host), pulled],
    ] as const) {
      assert.equal(verdict.answer, expected, verdict.why);
      assert.match(verdict.why, why);
    }
  });

test("asks for the pull scope and the manifest, and sends the credential only to the token service", async () => {
  await using registry = await serve(tokens(() => [200, '{"token":"t0ken"}']));
  await pull(registry.host);
  const url = "/v2/team/app/manifests/1";
  const asked = registry.asked.filter(
    (request) => request.method === "HEAD" || request.url.includes("scope"),
  );
  assert.deepEqual(asked, [
    { method: "HEAD", url, authorization: "" },
    {
      method: "GET",
      url: "/token?service=the+registry&scope=repository%3Ateam%2Fapp%3Apull",
      authorization: basic,
    },
    { method: "HEAD", url, authorization: "Bearer t0ken" },
  ]);
});

test("requests a login without a scope", async () => {
  await using registry = await serve(tokens(() => [200, '{"token":"t0ken"}']));
  await logIn(registry.host);
  assert.deepEqual(registry.asked, [
    { method: "GET", url: "/v2/", authorization: "" },
    { method: "GET", url: "/token?service=the+registry", authorization: basic },
    { method: "GET", url: "/v2/", authorization: "Bearer t0ken" },
  ]);
});

test("sends no credential before the registry requests it", async () => {
  await using open = await serve(always(200));
  await logIn(open.host);
  assert.deepEqual(open.asked, [{ method: "GET", url: "/v2/", authorization: "" }]);
});

test("tries the credentials of an image in the kubelet's order, until one is accepted", async () => {
  await using registry = await serve(asksFor("Basic"));
  const team = { registry: `${registry.host}/team`, credential };
  const host = { registry: registry.host, credential: new Credential("host", "x") };
  const other = { registry: `${registry.host}/team/app`, credential: new Credential("o", "y") };
  const { entries, images } = await verify([host, team, other], [`${registry.host}/team/app:1`]);
  const sent = registry.asked.filter(({ method }) => method === "HEAD");
  assert.deepEqual(
    sent.map(({ authorization }) => authorization).filter(Boolean),
    [other, team].map((entry) => `Basic ${entry.credential.encode()}`),
  );
  assert.deepEqual([images[0]?.answer, images[0]?.tries], ["Accepted", [other, team]]);
  // Only a login asks for the last credential.
  assert.deepEqual(
    [other, team, host].map((entry) => entries.get(entry)?.answer),
    ["Denied", "Accepted", "Denied"],
  );
});

test("does not ask over plain HTTP a registry that fails in another way than by lacking TLS", async () => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const verdict = await logIn(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.close();
  await once(server, "close");
  assert.deepEqual([verdict.answer, connections], ["Unknown", 1]);
});

test("denies a wrong credential although everyone may pull the image", async () => {
  await using registry = await serve((asked, response, host) =>
    asked.method === "HEAD" ? respond(response, 200) : asksFor("Basic")(asked, response, host),
  );
  const image = `${registry.host}/public/app:1`;
  for (const [password, answer] of [
    ["wrong", "Denied"],
    [credential.password, "Accepted"],
  ] as const) {
    const entry = { registry: registry.host, credential: new Credential("robot", password) };
    const { entries, images } = await verify([entry], [image]);
    assert.deepEqual([entries.get(entry)?.answer, images[0]?.answer], [answer, "Accepted"]);
  }
});

test("accepts a credential that cannot pull an image which another credential pulls", async () => {
  const mayPull = new Credential("other", "x");
  await using registry = await serve(({ method, authorization }, response) => {
    const status = authorization === `Basic ${mayPull.encode()}` || method === "GET" ? 200 : 403;
    respond(response, authorization === "" ? 401 : status, { "www-authenticate": "Basic" });
  });
  // The kubelet compares plain text, so it also tries the first entry for this image.
  const team = { registry: `${registry.host}/team`, credential };
  const host = { registry: registry.host, credential: mayPull };
  const { entries, images } = await verify([team, host], [`${registry.host}/team-x/app:1`]);
  assert.deepEqual([entries.get(team)?.answer, images[0]?.answer], ["Accepted", "Accepted"]);
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
  for (const { host } of [first, late])
    for (const { answer, why } of [await logIn(host), await pull(host)]) {
      assert.equal(answer, "Unknown");
      assert.match(why, /redirects to another host, which gets no credential/);
    }
  assert.deepEqual(other.asked, []);
});

test("sends nothing to a token service without TLS on another host", async () => {
  await using service = await serve(always(200, {}, '{"token":"t0ken"}'));
  const named = service.host.replace("127.0.0.1", "localhost");
  const realm = `Bearer realm="http://${named}/token"`;
  await using registry = await serve(always(401, { "www-authenticate": realm }));
  const { answer, why } = await logIn(registry.host);
  assert.equal(answer, "Unknown");
  assert.match(why, /a token service without TLS, which gets no credential/);
  assert.deepEqual(service.asked, []);
});

test("sends nothing to a server without TLS, unless the key says http://", async () => {
  await using registry = await serve(asksFor("Basic"));
  // The address leads to the same server, but it is not an address of this machine.
  const other = registry.host.replace("127.0.0.1", "[::ffff:7f00:1]");
  assert.match((await logIn(other)).why, /does not speak TLS/);
  assert.deepEqual(registry.asked, []);
  assert.equal((await logIn(other, 5, true)).answer, "Accepted");
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
  assert.equal((await logIn(registry.host)).answer, "Unknown");
});

test("sends no credential that has neither a user name nor a password", async () => {
  await using registry = await serve(asksFor("Basic"));
  const empty = { registry: registry.host, credential: new Credential("", "") };
  const { entries } = await verify([empty]);
  assert.match(entries.get(empty)?.why ?? "", /no user name and no password/);
  assert.deepEqual(registry.asked, []);
});

test("sends the credential of a pattern to no host, and tries the next entry", async () => {
  await using registry = await serve(asksFor("Basic"));
  const port = registry.host.split(":")[1];
  const wildcard = { registry: `*.0.0.1:${port}`, credential: new Credential("w", "x") };
  const named = { registry: registry.host, credential };
  const { entries, images } = await verify([wildcard, named], [`${registry.host}/team/app:1`]);
  assert.equal(images[0]?.answer, "Accepted");
  assert.match(entries.get(wildcard)?.why ?? "", /a pattern does not name one host/);
  const sent = new Set(registry.asked.map(({ authorization }) => authorization));
  assert.deepEqual(sent, new Set(["", basic]));
});

test("answers about the other registries within the time limit if one hangs", async () => {
  await using hanging = await serve(() => {});
  await using registry = await serve(asksFor("Basic"));
  const slow = { registry: hanging.host, credential };
  const good = { registry: registry.host, credential };
  const start = performance.now();
  const { entries } = await verify([slow, good], [`${hanging.host}/team/app:1`], 0.5);
  assert.ok(performance.now() - start < 2000);
  assert.deepEqual(entries.get(slow), {
    answer: "Unknown",
    why: "no answer in time",
    asked: true,
  });
  assert.equal(entries.get(good)?.answer, "Accepted");
});

/** A server that sends `text` when something arrives, and never ends the connection. */
async function talk(text: string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("close", () => sockets.delete(socket)));
    socket.on("error", () => {}).once("data", () => socket.write(text));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

test("reports a registry that switches to another protocol, without waiting", async () => {
  const text = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
  await using registry = await talk(text);
  assert.match((await logIn(registry.host, 60)).why, /does not answer in HTTP/);
});

test("answers within the time limit if a registry answers only with early hints", async () => {
  await using registry = await talk("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100));
  assert.equal((await logIn(registry.host, 0.5)).why, "no answer in time");
});

for (const [what, text] of [
  ["a proxy that never answers", ""],
  ["a registry behind a proxy that never begins TLS", "HTTP/1.1 200 OK\r\n\r\n"],
] as const)
  test(`answers about the others within the time limit beside ${what}`, async (t) => {
    await using proxy = await talk(text);
    await using registry = await serve(asksFor("Basic"));
    process.env["https_proxy"] = `http://${proxy.host}`;
    t.after(() => delete process.env["https_proxy"]);
    const slow = { registry: "registry.example", credential };
    const good = { registry: registry.host, credential, isPlain: true as const };
    const { entries } = await verify([slow, good], [], 0.5);
    assert.equal(entries.get(slow)?.why, "no answer in time");
    assert.equal(entries.get(good)?.answer, "Accepted");
  });

test("keeps no connection to a proxy that never answers", async (t) => {
  await using proxy = await talk("");
  process.env["https_proxy"] = `http://${proxy.host}`;
  t.after(() => delete process.env["https_proxy"]);
  await logIn("registry.example", 0.2);
  const [socket] = proxy.sockets;
  if (socket !== undefined) await once(socket, "close", { signal: AbortSignal.timeout(5000) });
});

test("answers about the other registries beside one that hangs with many credentials", async () => {
  await using hanging = await serve(() => {});
  await using registry = await serve(asksFor("Basic"));
  const slow = Array.from({ length: 100 }, (_, at) => ({
    registry: `${hanging.host}/team-${at}`,
    credential: new Credential(`user-${at}`, "x"),
  }));
  const good = { registry: registry.host, credential };
  const { entries } = await verify([...slow, good], [], 0.5);
  assert.equal(entries.get(good)?.answer, "Accepted");
});

test("looks up no host after the time limit", async (t) => {
  const lookup = t.mock.method(dns, "lookup", () => {});
  const entries = Array.from({ length: 100 }, (_, at) => ({
    registry: `r${at}.example`,
    credential,
  }));
  const { entries: verdicts } = await verify(entries, [], 0.3);
  assert.deepEqual([verdicts.size, lookup.mock.callCount()], [100, 32]);
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

test("reports a proxy whose address is not valid", async (t) => {
  process.env["http_proxy"] = "http://[";
  t.after(() => delete process.env["http_proxy"]);
  const { answer, why } = await logIn("registry.example:5000", 5, true);
  assert.deepEqual([answer, /proxy is not valid/.test(why)], ["Unknown", true]);
});

test("connects through the proxy that the environment names", async (t) => {
  await using proxy = await serve(asksFor("Basic"));
  process.env["http_proxy"] = `http://${proxy.host}`;
  t.after(() => delete process.env["http_proxy"]);
  assert.equal((await logIn("registry.example:5000", 5, true)).answer, "Accepted");
  assert.equal(proxy.asked[0]?.url, "http://registry.example:5000/v2/");
});

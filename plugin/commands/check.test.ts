import assert from "node:assert/strict";
import { test } from "node:test";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret } from "../fake.fixture.ts";
import { respond, serve } from "#registry/server.fixture.ts";
import { object } from "../object.fixture.ts";

const password = "pl4nted-s3cret";

function cluster(entries: Record<string, string>, path = additionalPath): FakeCluster {
  const fake = new FakeCluster();
  fake.objects.set(path, pullSecret(entries));
  return fake;
}

test("if no file is given, checks the cluster's Secret, and applies spec.protectedRegistries", async () => {
  const fake = cluster({ "quay.io": "u:p" });
  assert.deepEqual(await call(["check"], { cluster: fake }), {
    code: 0,
    out: "accepted: 1 registry\n",
    err: "",
  });
  fake.objects.set(globalPullSecretPath, object({ spec: { protectedRegistries: ["quay.io"] } }));
  const { code, err } = await call(["check"], { cluster: fake });
  assert.equal(code, 1);
  assert.match(err, /protected/);
});

/**
 * The commands that check a document. They must not refuse a document that the controller might
 * accept.
 */
const judging: readonly (readonly [words: readonly string[], input?: string])[] = [
  [["check"]],
  [["remove", "a.io"]],
  [["add", "b.io", "-u", "x", "--password-stdin"], "y"],
];
for (const [words, input = ""] of judging)
  test(`\`${words[0]}\` does not refuse an entry for a protected registry if an original exists`, async () => {
    const fake = cluster({ "quay.io": "u:p", "a.io": "u:p" });
    const spec = { protectedRegistries: ["quay.io"] };
    const accepted = { accepted: "True", reason: "Accepted", message: "in order" } as const;
    const checkFile = (name: string) => {
      const status = { sources: [{ name, ...accepted }] };
      fake.objects.set(globalPullSecretPath, object({ spec, status }));
      return call(words, { cluster: fake, input });
    };
    const refused = await checkFile("additional-pull-secret");
    assert.deepEqual([refused.code, fake.writes], [1, []]);
    const { code, err } = await checkFile("original");
    assert.equal(code, 0, err);
    assert.match(
      err,
      /"quay\.io"\]: not judged here: serves images of "quay\.io", which is protected; /,
    );
  });

test("reports a missing Secret, with what to do", async () => {
  const { code, err } = await call(["check", "--login"], { cluster: new FakeCluster() });
  assert.equal(code, 1);
  assert.match(err, /^additional-pull-secret: there is no such Secret in kube-system; give --file/);
});

test("--login prints a line for each registry, and exits with 1 if a registry denies its credential", async () => {
  await using takes = await serve(({ authorization }, response) =>
    respond(response, authorization === "" ? 401 : 200, { "www-authenticate": "Basic" }),
  );
  await using refuses = await serve((_, response) =>
    respond(response, 401, { "www-authenticate": `Basic realm="${password}"` }),
  );
  const pair = `robot:${password}`;
  const good = await call(["check", "--login"], { cluster: cluster({ [takes.host]: pair }) });
  assert.deepEqual([good.code, good.out], [0, `accepted: 1 registry\n  ${takes.host}  Accepted\n`]);
  const both = { cluster: cluster({ [takes.host]: pair, [`${refuses.host}/team`]: pair }) };
  const bad = await call(["check", "--login", "-o", "json"], both);
  assert.equal(bad.code, 1);
  const { registries } = JSON.parse(bad.out) as { registries: object[] };
  assert.deepEqual(registries, [
    { registry: takes.host, answer: "Accepted", why: "" },
    { registry: `${refuses.host}/team`, answer: "Denied", why: "the registry answers 401" },
  ]);
  assert.ok(!`${good.err}${bad.out}${bad.err}`.includes(password));
});

test("--login with --image denies a token that may log in, but not pull", async () => {
  await using registry = await serve(({ url, authorization }, response, host) => {
    if (url.startsWith("/token"))
      return respond(response, url.includes("pull") ? 403 : 200, {}, '{"token":"t"}');
    respond(response, authorization === "Bearer t" ? 200 : 401, {
      "www-authenticate": `Bearer realm="http://${host}/token"`,
    });
  });
  const reach = { cluster: cluster({ [registry.host]: `robot:${password}`, "*.a.io": "u:p" }) };
  const login = await call(["check", "--login"], reach);
  assert.deepEqual([login.code, login.out.includes(`${registry.host}  Accepted`)], [0, true]);
  const image = `${registry.host}/team/app:1`;
  const pull = await call(["check", "--login", "--image", image, "--image", "b.io/x"], reach);
  assert.equal(pull.code, 1);
  const why = "its token service answers 403";
  assert.match(pull.out, new RegExp(`${registry.host}  +Denied +${why}`));
  assert.match(pull.out, new RegExp(`${image} +Denied +${why}`));
  assert.match(pull.out, /b\.io\/x +Unknown +no entry serves it/);
  const missing = await call(["check", "--login", "--image", "b.io/x"], reach);
  assert.deepEqual([missing.code, login.code], [1, 0]);
  const json = await call(["check", "--login", "--image", image, "-o", "json"], reach);
  const { images } = JSON.parse(json.out) as { images: object[] };
  assert.deepEqual(images, [{ image, answer: "Denied", why }]);
});

test("refuses --image without --login, and a text that is not an image", async () => {
  const reach = { cluster: cluster({ "quay.io": "u:p" }) };
  assert.match((await call(["check", "--image", "quay.io/x"], reach)).err, /also needs --login/);
  const { err } = await call(["check", "--login", "--image", "A B"], reach);
  assert.match(err, /is not an image name/);
});

test("refuses a Secret of another type in the cluster, as the controller does", async () => {
  const fake = cluster({ "quay.io": "u:p" });
  const secret = fake.objects.get(additionalPath) as object;
  fake.objects.set(additionalPath, { ...secret, type: "Opaque" });
  const { code, err } = await call(["check"], { cluster: fake });
  assert.equal(code, 1);
  assert.match(err, /^GPS301 additional-pull-secret: type: type is Opaque; set type: /);
});

test("refuses data that the API server cannot decode", async () => {
  const good = '{"auths":{"quay.io":{"auth":"dTpw"}}}';
  const io = { documents: async (text: string) => [JSON.parse(text) as unknown] };
  for (const [data, code] of [
    [btoa(good), 0],
    [btoa(good).replaceAll(/.{10}/g, "$&\r\n"), 0],
    [`${btoa(good)}%`, 2],
    [good, 2],
  ] as const) {
    const type = "kubernetes.io/dockerconfigjson";
    const secret = { kind: "Secret", type, data: { ".dockerconfigjson": data } };
    const ran = await call(["check", "-f", "-"], { input: JSON.stringify(secret), io });
    assert.equal(ran.code, code, ran.err);
    assert.match(ran.err, code === 0 ? /^$/ : /is not base64, so the API server refuses it/);
    assert.ok(!ran.err.includes("dTpw"));
  }
});

test("if input is piped, but no file is given, warns that it does not read standard input", async () => {
  const fake = cluster({ "quay.io": "u:p" });
  const piped = await call(["check"], { cluster: fake, io: { piped: true } });
  assert.deepEqual([piped.code, piped.out], [0, "accepted: 1 registry\n"]);
  assert.match(piped.err, /^standard input is not read: .*; give - to check standard input\n$/);
  assert.equal((await call(["check"], { cluster: fake })).err, "");
  const input = '{"auths":{"a.io":{"auth":"dTpw"}}}';
  assert.equal((await call(["check", "-"], { input, io: { piped: true } })).err, "");
});

for (const [what, expiration, exit, said] of [
  [
    "refuses an expired credential",
    1_600_000_000,
    1,
    /^GPS178 additional-pull-secret: auths\[.*\]: the credential itself states that it ended at 2020-09-13T12:26:40\.000Z; /,
  ],
  [
    "accepts a credential that expires later with a warning",
    9_000_000_000,
    0,
    /^GPS175 additional-pull-secret: auths\[.*\]: the credential itself states that it ends at 2255-/,
  ],
] as const)
  test(what, async () => {
    const token = btoa(JSON.stringify({ payload: "x", expiration }));
    const fake = cluster({ "1.dkr.ecr.eu-west-1.amazonaws.com": `AWS:${token}` });
    const { code, err } = await call(["check"], { cluster: fake });
    assert.equal(code, exit);
    assert.match(err, said);
    assert.ok(!err.includes(token));
  });

test("-o github escapes the characters of a file's name that end a property or a command", async () => {
  const io = { read: () => Promise.resolve(Buffer.from('{"auths":{"b.io":{"auth":"%"}}}')) };
  const { out } = await call(["check", "a,b:%\n.json", "-o", "github"], { io });
  const problem = 'auths["b.io"].auth: not base64; ';
  assert.equal(
    out.slice(0, out.indexOf(problem)),
    "::error file=a%2Cb%3A%25\\u{a}.json,title=GPS115::a,b:%25\\u{a}.json: ",
  );
});

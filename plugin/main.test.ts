import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { globalPullSecretPath } from "#kube/client/paths.ts";
import { additionalPath, call, FakeCluster, pullSecret } from "./fake.fixture.ts";
import { object } from "./object.fixture.ts";
import { file, folder, options, run, runHere, testCases, testRefusals } from "./cases.fixture.ts";

const noFull = !existsSync("/dev/full") && "there is no /dev/full";

const program = fileURLToPath(new URL("main.ts", import.meta.url));

testCases([], "", runHere);
testRefusals([process.execPath, program], "");

test("H24: ends the process with the command's exit code, and prints only the requested output on standard output", async () => {
  const call = (line: string, input: string) =>
    run([process.execPath, program, ...line.split(" ")], input);
  const explained = await call("explain b.io/x --file - -o json", "junk");
  assert.deepEqual([explained.code, JSON.parse(explained.out).image], [0, "b.io/x"]);
  assert.match(explained.err, /^-: document: not JSON; .*\n$/);
  const refused = await call("check -", "{");
  assert.deepEqual([refused.code, refused.out], [1, ""]);
  assert.match(refused.err, /^GPS103 -: .*\nexplained by kubectl pull-secret help GPS103\n$/);
});

test("never prints a password, in any command or form", async () => {
  const [password, user] = ["pl4nted-s3cret", "u"];
  const encoded = Buffer.from(`${user}:${password}`).toString("base64");
  const planted = file(
    "planted.json",
    JSON.stringify({
      auths: {
        "a.io": { auth: encoded, password },
        [`u:${password}@b.io`]: { username: user, password, x: password },
        [`u:${password}%40b.io`]: { auth: encoded },
        [`u:${password}`]: {},
        // Some registries take a token as the user, without a password.
        "b.io/x": { username: password },
      },
    }),
  );
  const spoiled = file(
    "spoiled.json",
    `{"auths":{"a.io":{"auth":"${encoded}","password":"${password}"`,
  );
  for (const path of [planted, spoiled]) {
    for (const argv of [
      ["check", path],
      ["explain", "b.io/x/y", "--file", path],
      ["explain", "b.io/x/y", "--file", path, "-o", "json"],
      ["merge", "--show-credentials", "--additional", path, "--protect", "a.io"],
      [
        "merge",
        "--additional",
        path,
        "--output-file",
        "out",
        "--protect",
        `${user}:${password}@b.io/*`,
      ],
      ["check", path, `${user}:${password}`],
      ["check", path, "--password", password],
      ["check", path, `--password=${password}`, `-p${password}`],
    ]) {
      const { out, err } = await runHere(argv);
      assert.ok(
        !`${out}${err}`.includes("s3cret") && !`${out}${err}`.includes(encoded),
        argv.join(" "),
      );
    }
  }
});

test("writes credentials to a file that only its owner can read, even if the file exists", async () => {
  const merged = join(folder, file("merged.json", "old"));
  chmodSync(merged, 0o644);
  const additional = file("given.json", '{"auths":{"a.io":{"auth":"dTpw"}}}');
  const { code, out } = await runHere([
    "merge",
    "--additional",
    additional,
    "--output-file",
    merged,
  ]);
  assert.deepEqual([code, out], [0, ""]);
  assert.equal(statSync(merged).mode & 0o777, 0o600);
  assert.equal(readFileSync(merged, "utf8"), '{"auths":{"a.io":{"auth":"dTpw"}}}\n');
});

for (const [what, make] of [
  ["a FIFO", "mkfifo"],
  ["a directory", "mkdir"],
  ["a symbolic link", "ln -s merged.json"],
] as const)
  test(`refuses to replace ${what} by the file that it writes`, async () => {
    const place = mkdtempSync(join(folder, "special-"));
    const path = join(place, "out");
    await run(["sh", "-c", `${make} ${path}`]);
    const additional = file("given.json", '{"auths":{"a.io":{"auth":"dTpw"}}}');
    const before = lstatSync(path);
    const { code, err } = await runHere([
      "merge",
      "--additional",
      additional,
      "--output-file",
      path,
    ]);
    assert.deepEqual([code, lstatSync(path).ino], [2, before.ino]);
    assert.match(err, /out: cannot be written \(not a regular file\); give a file in /);
    assert.deepEqual(readdirSync(place), ["out"]);
  });

test("does not fail when the reader of its output stops early", async () => {
  const large = file(
    "large.json",
    JSON.stringify({ auths: { "a.io": { username: "u", password: "p".repeat(300_000) } } }),
  );
  const child = spawn(
    process.execPath,
    [program, "merge", "--show-credentials", "--additional", large],
    options,
  );
  child.stdout.once("data", () => child.stdout.destroy());
  let err = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.deepEqual([code, err], [0, ""]);
});

test("does not fail when the reader of its standard error stops early", async () => {
  const child = spawn(process.execPath, [program, "check", file("not.json", "{")], options);
  child.stderr.destroy();
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.equal(code, 0);
});

test("reports an error if standard output cannot be written", { skip: noFull }, async () => {
  const line = `"${process.execPath}" "${program}" version > /dev/full`;
  const { code, err } = await run(["sh", "-c", line]);
  assert.deepEqual([code, err], [2, "standard output cannot be written (ENOSPC)\n"]);
});

test("after an unexpected error, prints one line that quotes no input", async () => {
  const broken = "JSON.stringify = (value) => { throw new RangeError(`pa55 ${value}`); };";
  const hook = ["--require", `./${file("broken.cjs", broken)}`];
  const argv = [process.execPath, ...hook, program, "explain", "a.io/x", "-f", "-", "-o", "json"];
  const { code, out, err } = await run(argv, '{"auths":{"a.io":{"auth":"dTpw"}}}');
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^unexpected RangeError at \S+:\d+:\d+: report this line, .*\n$/);
  assert.doesNotMatch(err, /pa55/);
});

test("completes --context with the contexts of the kubeconfig", async () => {
  const contexts = () => Promise.resolve(["east", "west"]);
  const words = ["__complete", "status", "--context", "e"];
  const completed = { code: 0, out: "east\n:4\n", err: "" };
  assert.deepEqual(await call(words, { io: { contexts } }), completed);
  const broken = () => Promise.reject(new Error("no kubeconfig"));
  assert.equal((await call(words, { io: { contexts: broken } })).out, ":4\n");
});

test("completes remove with the registries of the Secret", async () => {
  const cluster = new FakeCluster();
  cluster.objects.set(additionalPath, pullSecret({ "quay.io": "u:p", "u:pw@a.io": "u:p" }));
  const words = ["__complete", "remove", "--context", "east", ""];
  assert.equal((await call(words, { cluster })).out, "quay.io\n:4\n");
  assert.equal((await call([...words.slice(0, -1), "quay.io", ""], { cluster })).out, ":4\n");
  const sources = [{ name: "team-a", secretRef: { name: "team-a-pull" } }];
  cluster.objects.set(globalPullSecretPath, object({ spec: { sources } }));
  cluster.objects.set(
    additionalPath.replace("additional-pull-secret", "team-a-pull"),
    pullSecret({ "ghcr.io": "u:p" }),
  );
  const reach = async (how: object) => {
    assert.deepEqual(how, { kubeconfig: "k", context: undefined, seconds: 3 });
    return cluster;
  };
  const flags = ["__complete", "remove", "--kubeconfig=k", "--source", "team-a", ""];
  assert.equal((await call(flags, { io: { reach } })).out, "ghcr.io\n:4\n");
  cluster.refusals.set(additionalPath, 403);
  assert.equal((await call(words, { cluster })).out, ":4\n");
});

test("accepts -n kube-system, and explains why it refuses any other namespace", async () => {
  const { code, err } = await call(["status", "-n", "shop"]);
  assert.equal(code, 2);
  assert.match(err, /^--namespace "shop": is not valid: .* kube-system; leave out -n\n$/);
  assert.equal((await call(["nodes", "-n", "kube-system"])).code, 0);
});

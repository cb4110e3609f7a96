import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Logger } from "pino";
import type { Cluster } from "#kube/client/cluster.ts";
import { issue } from "#test/harness/api/certificate.ts";
import { temporary } from "#test/temporary.ts";
import { openRemote } from "./remote-file.ts";

const authority = Buffer.from(issue("a.example").certificate).toString("base64");
const kubeconfig = (server: string, token: string): string =>
  JSON.stringify({
    clusters: [{ name: "c", cluster: { server, "certificate-authority-data": authority } }],
    users: [{ name: "u", user: { token } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    "current-context": "c",
  });

/** A remote cluster whose answers name the token of the connection that gave them. */
function remote(t: TestContext) {
  const file = join(temporary(t), "kubeconfig");
  const write = (server: string, token: string) => writeFileSync(file, kubeconfig(server, token));
  write("https://a.example", "first");
  const logged: string[] = [];
  let moves = 0;
  const cluster = openRemote({
    file,
    flag: "--remote",
    log: { error: ({ error }: { error: string }) => void logged.push(error) } as unknown as Logger,
    connected: ({ proof }) => ({ get: async () => proof.token }) as unknown as Cluster,
    moved: () => void (moves += 1),
  });
  return { file, write, logged, moves: () => moves, token: () => cluster.get("/") };
}

test("uses a renewed token, and the last valid file while the present one cannot be used", async (t) => {
  const { file, write, logged, moves, token } = remote(t);
  assert.equal(await token(), "first");
  write("https://a.example", "second");
  assert.equal(await token(), "second");
  writeFileSync(file, "{");
  for (let times = 0; times < 3; times += 1) assert.equal(await token(), "second");
  assert.equal(logged.length, 1, "logged once");
  assert.match(logged[0] ?? "", /^GPS\d{3} --remote: /);
  rmSync(file);
  assert.equal(await token(), "second");
  assert.equal(logged.length, 2);
  write("https://a.example", "third");
  assert.equal(await token(), "third");
  writeFileSync(file, "{");
  await token();
  assert.equal(logged.length, 3, "logged again after it was good");
  assert.equal(moves(), 0);
});

test("ends the process if the file names another cluster, and does not connect to it", async (t) => {
  const { write, moves, token } = remote(t);
  write("https://b.example", "other");
  assert.equal(await token(), "first");
  assert.equal(moves(), 1);
});

test("throws if the file cannot be used at the start", (t) => {
  const file = join(temporary(t), "kubeconfig");
  writeFileSync(file, "{}");
  const connected = () => assert.fail("it connects");
  const log = {} as Logger;
  const moved = () => assert.fail("it moves");
  assert.throws(() => openRemote({ file, flag: "--remote", log, connected, moved }), /--remote/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { choicesIn, forTests } from "./environment.ts";

test("gives tests only the variables that programs need or that select tests", () => {
  const needed = {
    PATH: "/bin",
    HOME: "/root",
    https_proxy: "a",
    GOPROXY: "b",
    SSL_CERT_FILE: "c",
  };
  const chosen = { SEED: "7", EVERY_POINT: "1", PATIENCE: "2", KUBEBUILDER_ASSETS: "/parts" };
  const others = { KUBECONFIG: "k", NODE_OPTIONS: "--no-warnings", NODE_ENV: "production" };
  const more = {
    POD_NAME: "p",
    LC_ALL: "tr_TR",
    TZ: "UTC",
    GOFLAGS: "-race",
    NODE_TEST_CONTEXT: "",
  };
  assert.deepEqual(forTests({ ...needed, ...chosen, ...others, ...more }), {
    ...needed,
    ...chosen,
  });
});

test("lists each set variable that changes which tests run or how they run", () => {
  assert.equal(choicesIn({ PATH: "/bin", SEED: "", TZ: "UTC" }), "");
  assert.equal(choicesIn({ PATIENCE: "2", SEED: "-7" }), "SEED=-7 PATIENCE=2");
});

test("leaves out a TMPDIR that is too long for the sockets in it", () => {
  const [short, long] = [38, 39].map((length) => ({ TMPDIR: "/".padEnd(length, "x") }));
  assert.deepEqual(forTests(short ?? {}), short);
  assert.deepEqual(forTests(long ?? {}), {});
});

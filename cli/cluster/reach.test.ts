import assert from "node:assert/strict";
import { test } from "node:test";
import { contextsOf } from "./reach.ts";

test("names the flag to give when there is no kubeconfig", () => {
  const { HOME = "", KUBECONFIG = "" } = process.env;
  Object.assign(process.env, { HOME: "/nonexistent", KUBECONFIG: "" });
  try {
    assert.throws(() => contextsOf(undefined), {
      name: "Misuse",
      message: /^no kubeconfig: .*; give --kubeconfig FILE$/,
    });
  } finally {
    Object.assign(process.env, { HOME, KUBECONFIG });
  }
});

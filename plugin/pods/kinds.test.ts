import assert from "node:assert/strict";
import { test } from "node:test";
import { namedObject, selectorText } from "./kinds.ts";

test("reads the names of kinds, and writes a selector, as kubectl does", () => {
  const kinds = { Pod: "po", Deployment: "deploy", DaemonSet: "ds", StatefulSet: "sts" };
  for (const [kind, short] of Object.entries({ ...kinds, ReplicaSet: "rs", CronJob: "cj" }))
    for (const type of [short, kind.toLowerCase(), `${kind.toLowerCase()}s`])
      assert.partialDeepStrictEqual(namedObject(`${type}/a`), { kind: { kind }, name: "a" });
  const operators = ["Exists", "DoesNotExist", "In", "NotIn"];
  const matchExpressions = operators.map((operator) => ({
    key: "a",
    operator,
    values: ["1", "2"],
  }));
  const text = selectorText({ matchLabels: { app: "web" }, matchExpressions });
  assert.equal(text, "app=web,a,!a,a in (1,2),a notin (1,2)");
});

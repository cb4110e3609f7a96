import assert from "node:assert/strict";
import { test } from "node:test";
import { askedBy } from "./reading.ts";

test("turns the arguments of kubectl get into one request", () => {
  const pods = "/api/v1/namespaces/kube-system/pods";
  const events = "/api/v1/namespaces/default/events";
  const cases: readonly (readonly [words: string, path: string, query: object])[] = [
    ["pod one -n kube-system", `${pods}/one`, {}],
    ["pods -n kube-system -l name=agent", pods, { labelSelector: "name=agent" }],
    ["serviceaccount --namespace=a b", "/api/v1/namespaces/a/serviceaccounts/b", {}],
    ["node node1", "/api/v1/nodes/node1", {}],
    [
      "events -n default --field-selector=involvedObject.name=a",
      events,
      { fieldSelector: "involvedObject.name=a" },
    ],
  ];
  for (const [words, path, query] of cases)
    assert.deepEqual(askedBy(words.split(" ")), { path, query }, words);
});

test("runs kubectl for arguments that only kubectl understands", () => {
  for (const words of ["pods -A", "widgets", "pod one two", "pod one -l a=b", "pods,secrets"])
    assert.equal(askedBy(words.split(" ")), undefined, words);
});

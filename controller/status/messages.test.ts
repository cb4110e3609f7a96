import assert from "node:assert/strict";
import { test } from "node:test";
import { finding } from "#controller/sources/problems.ts";
import type { SourceVerdict } from "#controller/sources/verdict.ts";
import * as messages from "./messages.ts";

const problem = finding("wrongType", "additional-pull-secret", "type", "Opaque");
test("shows code, source, key path, the fault and what to do in a rejected Secret's Event", () => {
  const { message } = messages.rejected([problem], false, "1");
  assert.equal(
    message,
    "GPS301 additional-pull-secret: type: type is Opaque; set type: kubernetes.io/dockerconfigjson " +
      "(a type cannot be changed, so recreate the Secret) (nothing is deployed)",
  );
});

test("lists five problems in one Event and counts the others", () => {
  const { message } = messages.rejected(
    Array.from({ length: 8 }, () => problem),
    true,
    "1",
  );
  assert.equal(message.split(" | ").length, 6);
  assert.match(message, /and 3 more \(the last accepted entries stay in force\)$/);
});

test("reports a refused source again when its name, its reason or its Secret has changed", () => {
  const source: SourceVerdict = {
    name: "a",
    secret: "kube-system/a",
    resourceVersion: "1",
    accepted: "False",
    reason: "Rejected",
    message: "m",
    problems: [],
  };
  const subjectOf = (changed: Partial<SourceVerdict>) =>
    messages.sourceRejected({ ...source, ...changed }).subject;
  const subjects = [
    subjectOf({}),
    subjectOf({ name: "b" }),
    subjectOf({ reason: "Missing" }),
    subjectOf({ resourceVersion: "2" }),
    subjectOf({ resourceVersion: undefined }),
  ];
  assert.equal(new Set(subjects).size, subjects.length);
  assert.equal(subjectOf({ message: "another" }), subjects[0]);
});

test("reports a halt: what, where, and what to do", () => {
  const next =
    "so no other is asked; correct the Secret or nodes, then run kubectl pull-secret retry";
  const message = (by: "failed" | "lost", count: number, ...names: readonly string[]) =>
    messages.halted(1_764_416_000, { by, count }, names).message;
  assert.equal(
    message("failed", 1, "a"),
    `GPS305 revision 1764416000 failed on 1 node (a), ${next}`,
  );
  assert.equal(
    message("lost", 12, "a", "b", "c", "d"),
    `GPS305 revision 1764416000 is not answered by 12 nodes (a, b, c and 9 more), ${next}`,
  );
  assert.equal(
    message("failed", 3),
    `GPS305 revision 1764416000 failed on 3 nodes, ${next}`,
    "nodes that are gone have no name",
  );
});

test("quotes, for each node, why a rollout waits", () => {
  const message = "GPS336 the node's agent does not start: ImagePullBackOff";
  const troubled = [{ node: "a", code: "GPS336", message, since: undefined }];
  assert.match(
    messages.unserved(3, troubled).message,
    /^GPS327 .*a: GPS336 the node's agent does not start: ImagePullBackOff;/,
  );
});

const withdrawals: readonly (readonly [
  begins: Date | undefined,
  lost: readonly string[],
  type: string,
  message: RegExp,
])[] = [
  [new Date(0), [], "Normal", /^deleted, .*: at 1970-01-01T00:00:00.000Z its entries will be/],
  [undefined, [], "Warning", /^deleted, .*: its entries stay, because spec.withdrawal.onDelete/],
  [new Date(0), ["a.io"], "Warning", /^GPS340 .*a\.io.*; they are removed at 1970-01-01T/],
];
for (const [begins, lost, type, message] of withdrawals)
  test(`reports a withdrawal that waits: ${message.source}`, () => {
    const notice = messages.withdrawing({ since: new Date(0), begins, due: false, lost });
    assert.equal(notice.type, type);
    assert.match(notice.message, message);
  });

test("names the number of a removal that hangs, but not while it waits for an earlier revision", () => {
  const { message } = messages.overdue(9, ["a", "b"], 45, true);
  assert.match(message, /removal 9 has made no progress for 45 s, waiting for a, b; repair or /);
  assert.match(messages.overdue(8, ["a"], 10, false).message, /the removal has made no progress/);
});

test("names the DaemonSet controller if a removal waits for no node", () =>
  assert.match(
    messages.overdue(9, [], 45, true).message,
    /waiting for the DaemonSet controller; /,
  ));

test("counts one registry and several", () =>
  assert.equal(
    [1, 2].map((count) => messages.accepted(count, 2, "1").message).join(),
    "accepted: 1 registry from this Secret, 2 in all,accepted: 2 registries from this Secret, 2 in all",
  ));

test("reports a withdrawal again when it begins at another time", () => {
  const subjectOf = (begins: Date | undefined) =>
    messages.withdrawing({ since: new Date(0), begins, due: false, lost: [] }).subject;
  const subjects = [undefined, new Date(1), new Date(2)].map(subjectOf);
  assert.equal(new Set(subjects).size, 3);
});

test("names each contested object once, also if the contest is about its status", () => {
  const path = "/api/v1/namespaces/kube-system/secrets/a";
  const contests = [
    { path, manager: "helm" },
    { path: `${path}/status`, manager: "helm" },
    { path, manager: undefined },
  ];
  assert.match(
    messages.contested(contests).message,
    /: {1,2}field manager "helm" keeps undoing the controller's writes of secrets\/a, another client keeps undoing the controller's writes of secrets\/a;/,
  );
});

test("names nodes that were not reached", () => {
  assert.equal(
    messages.rolledOut(3, 2, [], 12).message,
    "revision 3 is on 2 of 2 nodes after 12 s",
  );
  assert.equal(
    messages.rolledOut(3, 2, ["c"], 12).message,
    "revision 3 is on 2 of 3 nodes after 12 s; without it: c",
  );
  assert.match(
    messages.leftBehind(["a", "b", "c", "d", "e", "f"]).message,
    /^GPS307 not confirmed by 6 nodes that may keep the entries: a, b, c, d, e and 1 more; remove /,
  );
});

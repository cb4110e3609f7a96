import assert from "node:assert/strict";
import { test } from "node:test";
import { finding } from "#controller/sources/problems.ts";
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

test("names the nodes of a halted rollout, their agents' messages and how to try again", () => {
  const troubled = [
    { node: "a", message: "GPS203 kubelet.service failed three times" },
    { node: "b", message: "GPS335 the node's agent did not answer in time" },
  ];
  for (const [target, object] of [
    ["GlobalPullSecret", "gps cluster"],
    ["Secret", "secret additional-pull-secret -n kube-system"],
  ] as const) {
    const { type, message, lasting } = messages.halted(3, 2, troubled, target);
    assert.deepEqual([type, lasting], ["Warning", true]);
    assert.match(
      message,
      /^GPS305 .*revision 3 failed on 2 nodes and no other node gets it: a: GPS203 kubelet.service failed three times \| b: GPS335 the node's agent did not answer in time; to try again: /,
    );
    const command = `kubectl annotate ${object} --overwrite globalpullsecret.io/retry="$(date +%s)"`;
    assert.ok(message.includes(`; to try again: ${command};`), message);
  }
});

test("quotes, for each node, why a rollout cannot begin", () => {
  const { message } = messages.unserved(3, [
    { node: "a", message: "GPS336 the node's agent does not start: ImagePullBackOff" },
  ]);
  assert.match(message, /^GPS327 .*a: GPS336 the node's agent does not start: ImagePullBackOff;/);
});

test("gives the command that completes a removal that hangs", () => {
  const { message } = messages.overdue(9, ["a", "b"], 45, true);
  assert.match(message, /has made no progress for 45 s, waiting for a, b;/);
  assert.match(
    message,
    /to finish without them: kubectl annotate secret global-pull-secret -n kube-system --overwrite globalpullsecret.io\/released=9$/,
  );
});

test("names no command while the removal still waits for an earlier revision", () => {
  const { message } = messages.overdue(8, ["a"], 10, false);
  assert.match(message, /waiting for a; repair or delete what the removal waits for$/);
});

test("names nodes that were not reached", () => {
  assert.equal(
    messages.rolledOut(3, 2, [], 12).message,
    "revision 3 is on 2 of 2 nodes after 12 s",
  );
  assert.equal(
    messages.rolledOut(3, 2, ["c"], 12).message,
    "revision 3 is on 2 of 3 nodes after 12 s; not served yet: c",
  );
  assert.match(
    messages.leftBehind(4, ["a", "b", "c", "d", "e", "f"]).message,
    /6 nodes could not be reached and may keep the entries: a, b, c, d, e and 1 more;/,
  );
});

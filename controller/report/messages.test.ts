import assert from "node:assert/strict";
import { test } from "node:test";
import { finding } from "#controller/sources/read/problems.ts";
import * as messages from "./messages.ts";

const problem = finding("wrongType", "additional-pull-secret", "type", "Opaque");
const node = (name: string, message: string | undefined) => ({
  name,
  silent: false,
  silentSeconds: 0,
  podlessSeconds: 0,
  controlPlane: false,
  agent: {
    current: true,
    available: false,
    running: true,
    started: true,
    proved: false,
    ageSeconds: 9,
    unavailableSeconds: 0,
    gaveUp: message !== undefined,
    gaveBack: false,
    refused: false,
    message,
  },
});

test("a rejected Secret's Event has code, source, key path, what is wrong and what to do", () => {
  const { message } = messages.rejected([problem], false, "1");
  assert.equal(
    message,
    "GPS301 additional-pull-secret: type: type is Opaque; give type: kubernetes.io/dockerconfigjson " +
      "(the type cannot be changed: recreate it) (nothing is deployed)",
  );
});

test("one Event lists five problems and counts the rest", () => {
  const { message } = messages.rejected(
    Array.from({ length: 8 }, () => problem),
    true,
    "1",
  );
  assert.equal(message.split(" | ").length, 6);
  assert.match(message, /and 3 more \(the last good entries stay in force\)$/);
});

test("a halted rollout names the nodes and the agents' last words", () => {
  const { type, message } = messages.halted(3, [
    node("a", "GPS203 kubelet.service failed three times"),
    node("b", undefined),
  ]);
  assert.equal(type, "Warning");
  assert.match(
    message,
    /^GPS305 .*revision 3 stopped at 2 nodes: a: GPS203 kubelet.service failed three times \| b: agent not available;/,
  );
});

test("a removal that hangs is told with the command that finishes it", () => {
  const { message } = messages.overdue(9, ["a", "b"], 45, true);
  assert.match(message, /has made no progress for 45 s, waiting for a, b;/);
  assert.match(
    message,
    /to finish without them: kubectl annotate secret global-pull-secret -n kube-system --overwrite globalpullsecret.io\/released=9$/,
  );
});

test("a removal that hangs before its own revision is out has no command yet: it would delete before any node was asked", () => {
  const { message } = messages.overdue(8, ["a"], 10, false);
  assert.match(message, /waiting for a; repair or delete what the removal waits for$/);
});

test("nodes that were not reached are named", () => {
  assert.equal(
    messages.rolledOut(3, 2, [], 12).message,
    "revision 3 is on 2 of 2 nodes after 12 s",
  );
  assert.equal(
    messages.rolledOut(3, 2, ["c"], 12).message,
    "revision 3 is on 2 of 3 nodes after 12 s; served when they return: c",
  );
  assert.match(
    messages.leftBehind(4, ["a", "b", "c", "d", "e", "f"]).message,
    /6 nodes could not be asked and may keep the entries: a, b, c, d, e and 1 more;/,
  );
});

test("a hold says on which nodes it failed, when it is tried again and how at once; a stalled one whose fault it hardly is", () => {
  const halt = {
    content: "c",
    revision: 7,
    nodes: ["a", "b"],
    since: "2026-11-23T00:00:00.000Z",
    tries: 1,
    retryAt: "2026-11-23T00:20:00.000Z",
    asked: "",
  };
  const { message, lasting } = messages.held({ ...halt, reason: "failed" });
  assert.match(
    message,
    /revision 7 failed on a, b; every node keeps what it has; it is tried again at 2026-11-23T00:20/,
  );
  assert.match(
    message,
    /kubectl annotate secret additional-pull-secret .* globalpullsecret.io\/retry=/,
  );
  assert.equal(lasting, true);
  assert.match(
    messages.held({ ...halt, reason: "stalled" }).message,
    /kubelet restarts fail there.*seldom causes/,
  );
  assert.match(
    messages.held({ ...halt, reason: "outage" }).message,
    /it is tried again when they are back/,
  );
  assert.match(messages.outage(7, ["a", "b"]).message, /2 nodes out of reach.*: a, b/);
});

/** Tables of decisions about restarts, until the kubelet has passed its probation. */
import assert from "node:assert/strict";
import test from "node:test";
import { denied, type Journal } from "../journal/journal.ts";
import {
  absent,
  check,
  crashed,
  follow,
  hour,
  limited,
  mounted,
  unanswered,
  quarantine,
  renewed,
  reviving,
  restarting,
  settling,
  stopped,
  tried,
  unit,
  withdrawn,
} from "../facts/facts.fixture.ts";

test("considers a restart due until a process with another InvocationID answers", () => {
  check([
    ["not made", { journal: restarting }, "restart GPS212 → restarting"],
    ["systemd does not answer", { journal: restarting, unit: unanswered }, "wait GPS210"],
    ["a job is queued", { journal: restarting, unit: { ...unit, busy: true } }, "wait GPS213"],
    ["stopping", { journal: restarting, unit: { ...unit, active: "deactivating" } }, "wait GPS213"],
    ["starting", { journal: restarting, unit: { ...crashed, sub: "start" } }, "wait GPS213"],
    [
      "made, healthz not yet",
      { journal: tried(1, 100), unit: renewed, healthy: false },
      "wait GPS213",
    ],
    [
      "made, healthz never",
      { journal: tried(1, 31_000), unit: renewed, healthy: false, stopwatch: { running: 30_000 } },
      "restart GPS214 → restarting",
    ],
    ["made and healthy", { journal: tried(1, 100), unit: renewed }, "record GPS215 → settling"],
    [
      "made by an administrator",
      { journal: restarting, unit: renewed },
      "record GPS215 → settling",
    ],
    [
      "killed before the request went out",
      { journal: tried(1, 100), restarts: 0 },
      "restart GPS212 → restarting",
    ],
    [
      "killed before the request went out: never counts as a failure",
      { journal: tried(3, 100), restarts: 0 },
      "restart GPS212 → restarting",
    ],
    ["the request changed nothing", { journal: tried(1, 100) }, "wait GPS214"],
    [
      "down when the agent starts",
      { journal: restarting, unit: stopped, healthy: false },
      "restart GPS212 → restarting",
    ],
    [
      "start limit hit before the agent starts",
      { journal: restarting, unit: limited, healthy: false },
      "restart GPS212 → restarting",
    ],
  ]);
});

test("H18: restores the old file after three failed attempts, spaced by the start limit", () => {
  const down = { unit: crashed, healthy: false };
  check([
    ["first failure, at once", { journal: tried(1, 9000), ...down }, "wait GPS214"],
    ["first failure, later", { journal: tried(1, 10_000), ...down }, "restart GPS214 → restarting"],
    ["the clock jumped back", { journal: tried(1, -hour), ...down }, "restart GPS214 → restarting"],
    [
      "a longer start limit",
      { journal: tried(1, 10_000), unit: { ...crashed, startLimit: 20_000 }, healthy: false },
      "wait GPS214",
    ],
    [
      "no start limit",
      { journal: tried(1, 10_000), unit: { ...crashed, startLimit: 0 }, healthy: false },
      "restart GPS214 → restarting",
    ],
    ["second failure", { journal: tried(2, 10_000), ...down }, "restart GPS214 → restarting"],
    [
      "systemd brought it back",
      { journal: tried(2, 100), unit: renewed },
      "record GPS215 → settling",
    ],
    ["third failure", { journal: tried(3, 0), ...down }, "record GPS216 → restoring"],
    [
      "third failure, start limit",
      { journal: tried(3, 0), unit: limited, healthy: false },
      "record GPS216 → restoring",
    ],
    [
      "there is no file to restore",
      { journal: { ...tried(3, 0), undo: undefined }, ...down },
      "record GPS220 → reviving",
    ],
    [
      "content that has failed before gets one attempt",
      { journal: { ...tried(1, 0), quarantine }, ...down },
      "record GPS216 → restoring",
    ],
  ]);
});

test("H18: is not Ready before the probation is over, and counts a kubelet that dies during the probation as a failed attempt", () => {
  check([
    [
      "young",
      { journal: settling, unit: renewed, stopwatch: { running: 1500, healthy: 999 } },
      "wait GPS215",
    ],
    [
      "still watching",
      { journal: settling, unit: renewed, stopwatch: { running: 4999, healthy: 4500 } },
      "wait GPS215",
    ],
    [
      "still watching a release",
      {
        journal: { ...settling, content: "none" },
        mounted: withdrawn,
        file: absent,
        unit: renewed,
        stopwatch: { running: 4999, healthy: 4500 },
      },
      "wait GPS215",
    ],
    [
      "proved",
      { journal: settling, unit: renewed, stopwatch: { running: 5000, healthy: 4500 } },
      "record GPS200 → applied",
    ],
    [
      "has just begun to answer",
      { journal: settling, unit: renewed, stopwatch: { running: 9000, healthy: 999 } },
      "wait GPS215",
    ],
    ["died", { journal: settling, unit: crashed, healthy: false }, "record GPS214 → restarting"],
    [
      "started again by systemd",
      { journal: settling, unit: { ...renewed, invocation: "newer", restarts: 1 } },
      "record GPS214 → restarting",
    ],
    [
      "replaced by an administrator or a reboot: no failure, the new process is watched",
      { journal: { ...settling, tried: 3 }, unit: { ...renewed, invocation: "newer" } },
      "record GPS215 → settling",
    ],
    [
      "restarted by itself",
      { journal: settling, unit: { ...renewed, restarts: 1 } },
      "record GPS214 → restarting",
    ],
    ["healthz falls silent", { journal: settling, unit: renewed, healthy: false }, "wait GPS213"],
    [
      "healthz is silent for 30 s",
      { journal: settling, unit: renewed, healthy: false, stopwatch: { running: 30_000 } },
      "record GPS214 → restarting",
    ],
    [
      "died the third time",
      { journal: { ...settling, tried: 3 }, unit: crashed, healthy: false },
      "record GPS216 → restoring",
    ],
    ["systemd does not answer", { journal: settling, unit: unanswered }, "wait GPS210"],
    [
      "the probation belongs to an older pod's revision",
      {
        journal: { ...settling, revision: 6 },
        mounted: { ...mounted, revision: 6 },
        unit: renewed,
      },
      "wait GPS215",
    ],
  ]);
});

test("after systemd refuses three restarts, restores the previous file, or lets the kubelet reread the file if the content is already proved", () => {
  const refused = (journal: Journal, times: number) => {
    let next = journal;
    for (let time = 0; time < times; time += 1) next = denied(next, "AccessDenied");
    return next;
  };
  const { undo: _undo, ...proved } = restarting;
  const back = { ...reviving, quarantine: { ...quarantine, told: false, why: "AccessDenied" } };
  check([
    ["twice", { journal: refused(restarting, 2) }, "restart GPS212 → restarting"],
    ["three times", { journal: refused(restarting, 3) }, "record GPS259 → restoring"],
    ["without a file to restore", { journal: refused(proved, 3) }, "record GPS254 → applied"],
    [
      "without a file to restore, and the kubelet is down",
      { journal: refused(proved, 3), unit: crashed },
      "restart GPS212 → restarting",
    ],
    ["the file is back", { journal: refused(back, 3), file: absent }, "record GPS218 → applied"],
    [
      "the file is back, and the kubelet is down",
      { journal: refused(back, 3), file: absent, unit: crashed },
      "restart GPS217 → reviving",
    ],
  ]);
  const { steps, last } = follow({ journal: refused(restarting, 3) });
  assert.deepEqual(steps, [
    "record GPS259 → restoring",
    "restore GPS216",
    "record GPS217 → reviving",
    "record GPS218 → applied",
    "wait GPS218 Failed",
  ]);
  assert.match(last.detail ?? "", /refused the restart: AccessDenied/);
});

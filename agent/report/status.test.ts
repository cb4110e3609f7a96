/** Reports and the log. Every lasting state is logged, but flapping must not fill a disk. */
import assert from "node:assert/strict";
import test from "node:test";
import { SystemdError, NoAnswer } from "../systemd/connection.ts";
import { formatLine, record, type Step, wait, type Code } from "../facts/step.ts";
import { FileChanged, FileError } from "../files/atomic-write.ts";
import { lineOf, parseMessage } from "#contract/termination-message.ts";
import type { Observed } from "../facts/grant.ts";
import type { Journal } from "../journal/journal.ts";
import { Status, failureStep, LogLimiter } from "./status.ts";
import fc from "fast-check";

function listen() {
  const log: string[] = [];
  const messages: string[] = [];
  const clock = { now: 0 };
  const status = new Status(
    (_fields, line) => void log.push(line.slice(0, 6)),
    (word) => void messages.push(word),
    () => clock.now,
  );
  return { status, log, messages, clock };
}

const seen: Observed = {
  grant: { revision: 7, digest: "d", since: "2026-11-26T18:25:07Z", word: true },
  journal: 6,
  fulfilled: false,
  failed: undefined,
};
const ready: Step = { action: "nothing", code: "GPS200", ready: true, again: 10_000 };

test("logs one line in an hour of rest, and leaves no termination message", () => {
  const { status, log, messages } = listen();
  for (let rounds = 0; rounds < 360; rounds += 1) status.report(ready, seen);
  assert.deepEqual(log, ["GPS200"]);
  assert.deepEqual(messages, []);
  assert.equal(status.readiness.ready, true);
});

test("logs two lines for an operation that keeps failing, and two more if it fails again after a success", () => {
  const { status, log } = listen();
  const failing = [wait("GPS226", 0), wait("GPS208", "back off", "ENOSPC")];
  for (let tries = 0; tries < 100; tries += 1)
    for (const step of failing) status.report(step, seen);
  assert.deepEqual(log, ["GPS226", "GPS208"]);
  status.report(record("GPS212", {} as never), seen);
  for (const step of failing) status.report(step, seen);
  assert.deepEqual(log, ["GPS226", "GPS208", "GPS212", "GPS226", "GPS208"]);
});

test("logs one line a minute for a reason whose detail changes all the time", () => {
  const { status, log, clock } = listen();
  for (let revision = 0; revision < 10_000; revision += 1) {
    clock.now += 1000;
    status.report(wait("GPS203", 1000, `mounted ${revision}`), seen);
  }
  assert.equal(log.length, Math.ceil(10_000 / 60));
  assert.match(status.readiness.line, /mounted 9999.*\(revision 7\)$/);
});

test("writes the current reason as the termination message, and no message while ready", () => {
  const { status, messages } = listen();
  for (const step of [wait("GPS210", 1000), wait("GPS210", 1000), ready, wait("GPS221", 1000)])
    status.report(step, seen);
  assert.deepEqual(
    messages.map((word) => word.slice(0, 6)),
    ["GPS210", "", "GPS221"],
  );
  assert.match(messages[0] ?? "", /^GPS210 .* \(revision 7\)$/);
});

test("logs the granted revision, or the node's own revision if there is no grant", () => {
  const { status } = listen();
  const { grant } = seen;
  assert.ok(typeof grant === "object");
  const rows = [
    [grant, 6, 7],
    ["none", 6, 6],
    ["unread", 6, 6],
    [{ ...grant, revision: 0 }, 6, 6],
    ["none", 0, 0],
  ] as const;
  for (const [grantReading, journal, revision] of rows) {
    status.report(ready, { ...seen, grant: grantReading, journal });
    assert.match(status.readiness.line, new RegExp(` \\(revision ${revision}\\)$`));
  }
});

test("logs a step and sets the readiness even if the termination message cannot be written", () => {
  const log: string[] = [];
  const full = () => assert.fail("ENOSPC");
  const status = new Status(
    (_fields, line) => void log.push(line),
    full,
    () => 0,
  );
  status.report(wait("GPS210", 1000), seen);
  assert.equal(log.length, 1);
  assert.match(status.readiness.line, /^GPS210/);
});

test("keeps the container running while its report to the controller cannot be written, and writes the report later", () => {
  for (const end of [
    { ...wait("GPS200", 0), action: "end", exit: 0, report: "proved" },
    { ...wait("GPS218", 0), action: "give up", journal: { revision: 5 } as never as Journal },
  ] as const) {
    const disk = { full: true };
    const messages: string[] = [];
    const leave = (word: string) => (disk.full ? assert.fail("ENOSPC") : void messages.push(word));
    const status = new Status(
      () => {},
      leave,
      () => 0,
    );
    for (let tries = 0; tries < 2; tries += 1)
      assert.throws(() => status.report(end, seen), /ENOSPC/);
    status.report(wait("GPS208", 0), seen);
    disk.full = false;
    status.report(end, seen);
    assert.equal(parseMessage(messages.at(-1))?.grant.revision, 7);
  }
});

test("appends the report for the controller to the administrators' line when the container ends", () => {
  const { status, messages } = listen();
  const { grant } = seen;
  status.report(wait("GPS210", 0), seen);
  status.report({ ...wait("GPS200", 0), action: "end", exit: 0, report: "proved" }, seen);
  const failed = { journal: { revision: 5 } } as never as { journal: Journal };
  status.report({ ...wait("GPS218", 0), action: "give up", ...failed }, seen);
  assert.deepEqual(messages.map(parseMessage), [
    undefined,
    { kind: "proved", grant: keyPartsOf(grant), journal: 6 },
    { kind: "failed", grant: keyPartsOf(grant), journal: 5 },
  ]);
  assert.match(lineOf(messages[1] ?? ""), /^GPS200 .*\(revision 7\)$/);
});

const keyPartsOf = (grant: Observed["grant"]) => {
  assert.ok(typeof grant === "object");
  const { word: _word, ...key } = grant;
  return key;
};

test("turns an error into a reason: no answer, a file operation, another writer, or an unforeseen error", () => {
  const errors: readonly (readonly [Error, string])[] = [
    [new NoAnswer("x"), "GPS210"],
    [new SystemdError("org.freedesktop.DBus.Error.AccessDenied", "x"), "GPS210"],
    [new FileChanged("x"), "GPS209"],
    [Object.assign(new Error("x"), { syscall: "open", code: "ENOSPC" }), "GPS208"],
    // On a full disk, every call can succeed although the file is too short. An earlier version
    // reported this as unforeseen.
    [new FileError("short write: 0 of 100 bytes"), "GPS208"],
    [new TypeError("x"), "GPS228"],
  ];
  for (const [error, code] of errors) assert.equal(failureStep(error).code, code);
});

test("writes each message on one line, short enough for an Event", () => {
  const line = formatLine("GPS206", `first\nsecond ${"x".repeat(5000)}`);
  assert.ok(!line.includes("\n") && line.length < 1024);
  assert.match(
    line,
    /^GPS206 config.json or the provider's answer cannot be replaced safely \(first second x+\); nothing changes/,
  );
});

type One = Readonly<{ action?: Step["action"]; code: Code; ready?: boolean; detail?: string }>;

/** Steps with their times in seconds → the logged lines, in short. */
function loggedBy(steps: readonly (readonly [second: number, one: One])[]): string[] {
  let now = 0;
  const limiter = new LogLimiter(() => now);
  return steps.flatMap(([second, { action = "wait", code, ready = false, detail = "" }]) => {
    now = second * 1000;
    return limiter.admits({ action, code, ready }, `${code} ${detail}`)
      ? [`${second} ${code}${detail}`]
      : [];
  });
}

const fine: One = { action: "nothing", code: "GPS200", ready: true };
const down: One = { code: "GPS221" };

test("logs each outage and each recovery, however many there were", () => {
  const month = 30 * 24 * 3600;
  const outages = [0, 1, 2].flatMap((n) => [
    [n * month, fine] as const,
    [n * month + 1000, down] as const,
    [n * month + 1030, fine] as const,
  ]);
  const lines = loggedBy(outages);
  assert.deepEqual(
    lines.map((line) => line.split(" ")[1]).join(" "),
    "GPS200 GPS221 GPS200 GPS221 GPS200 GPS221 GPS200",
  );
});

test("logs a restart, a rollback and giving up even after thousands of different lines", () => {
  const growing = Array.from(
    { length: 10_000 },
    (_, n) => [n, { code: "GPS206", detail: ` ${n}` }] as const,
  );
  const after = (
    [
      ["nothing", "GPS200"],
      ["restart", "GPS212"],
      ["record", "GPS216"],
      ["give up", "GPS218"],
    ] as const
  ).map(([action, code], n) => [10_000 + n, { action, code }] as const);
  const lines = loggedBy([...growing, ...after]);
  assert.deepEqual(
    lines.slice(-4).map((line) => line.slice(6)),
    ["GPS200", "GPS212", "GPS216", "GPS218"],
  );
  assert.ok(lines.length <= 10_000 / 60 + 6, `${lines.length} lines`);
});

test("logs an operation only every ten minutes if it fails every 30 s for six hours", () => {
  const tries = Array.from({ length: 720 }, (_, n) => [
    [n * 30, { action: "apply", code: "GPS226" }] as const,
    [n * 30, { code: "GPS208", detail: " ENOSPC" }] as const,
  ]).flat();
  assert.ok(loggedBy(tries).length <= 2 * 37, String(loggedBy(tries).length));
});

test("when two states alternate every second for a day, logs at most one line a minute, and the last state", () => {
  const day = 24 * 3600;
  const flapping = Array.from({ length: day }, (_, n) => [n, n % 2 === 0 ? fine : down] as const);
  const lines = loggedBy([...flapping, [day, down], [day + 61, down]]);
  assert.ok(lines.length <= 24 * 60 + 40, `${lines.length} lines`);
  assert.match(lines.at(-1) ?? "", /GPS221$/);
});

test("ends the log with a state that lasts a minute, and logs at most 100 lines an hour, whatever the sequence", () => {
  const step = fc.record({
    wait: fc.constantFrom(0, 1, 20, 250, 1000, 10_000, 30_000, 59_999, 60_000, 600_000, 5_000_000),
    action: fc.constantFrom<Step["action"][]>(
      "wait",
      "nothing",
      "record",
      "restart",
      "apply",
      "give up",
    ),
    code: fc.constantFrom<Code[]>("GPS200", "GPS208", "GPS213", "GPS221", "GPS226"),
    ready: fc.boolean(),
    detail: fc.nat(3),
  });
  const repeated = fc.tuple(
    fc.array(step, { minLength: 1, maxLength: 6 }),
    fc.constantFrom(1, 3, 40, 150),
  );
  const sequences = fc
    .array(repeated, { maxLength: 12 })
    .map((parts) =>
      parts.flatMap(([steps, times]) => Array.from({ length: times }, () => steps).flat()),
    );
  fc.assert(
    fc.property(sequences, (steps) => {
      let now = 0;
      const news = new LogLimiter(() => now);
      const lines: number[] = [];
      let last = "";
      let present = { state: "", since: 0 };
      for (const { wait, action, code, ready, detail } of steps) {
        now += wait;
        const state = `${code} ${ready}`;
        if (present.state !== state) present = { state, since: now };
        if (news.admits({ action, code, ready }, `${code} ${detail}`)) {
          lines.push(now);
          last = state;
        }
        if (now - present.since >= 60_000) assert.equal(last, state);
        assert.ok((lines.at(-101) ?? -Infinity) <= now - 3_600_000);
      }
    }),
    { numRuns: 500 },
  );
});

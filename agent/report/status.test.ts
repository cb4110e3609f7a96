/** The log. Every lasting state is logged, but flapping must not fill a disk. */
import assert from "node:assert/strict";
import test from "node:test";
import { NoAnswer, NoSystemd, RestartRefused, SystemdError } from "../systemd/connection.ts";
import { formatLine, record, type Step, wait, type Code } from "../facts/step.ts";
import { FileChanged, FileError } from "../files/atomic-write.ts";
import { Status, failureStep, LogLimiter } from "./status.ts";
import fc from "fast-check";

function listen() {
  const log: string[] = [];
  const clock = { now: 0 };
  const status = new Status(
    (_fields, line) => void log.push(line.slice(0, 6)),
    () => clock.now,
  );
  return { status, log, clock };
}

const rests: Step = { action: "nothing", code: "GPS200", again: 10_000 };

test("logs one line in an hour of rest", () => {
  const { status, log } = listen();
  for (let rounds = 0; rounds < 360; rounds += 1) status.report(rests, 7);
  assert.deepEqual(log, ["GPS200"]);
});

test("logs two lines for an operation that keeps failing, and two more if it fails again after a success", () => {
  const { status, log } = listen();
  const failing = [wait("GPS226", 0), wait("GPS208", "back off", "ENOSPC")];
  for (let tries = 0; tries < 100; tries += 1) for (const step of failing) status.report(step, 7);
  assert.deepEqual(log, ["GPS226", "GPS208"]);
  status.report(record("GPS212", {} as never, undefined), 7);
  for (const step of failing) status.report(step, 7);
  assert.deepEqual(log, ["GPS226", "GPS208", "GPS212", "GPS226", "GPS208"]);
});

test("logs one line a minute for a reason whose detail changes all the time", () => {
  const { status, log, clock } = listen();
  for (let revision = 0; revision < 10_000; revision += 1) {
    clock.now += 1000;
    status.report(wait("GPS203", 1000, `mounted ${revision}`), 7);
  }
  assert.equal(log.length, Math.ceil(10_000 / 60));
});

test("turns an error into a reason, and tries a write that lost a race again at once, everything else later and later", () => {
  const errors: readonly (readonly [error: Error, code: string, again: Step["again"]])[] = [
    [new NoAnswer("x"), "GPS210", "back off"],
    [new NoSystemd("x"), "GPS262", "back off"],
    [new SystemdError("org.freedesktop.DBus.Error.AccessDenied", "x"), "GPS210", "back off"],
    [new RestartRefused("x"), "GPS259", "back off"],
    [new FileChanged("x"), "GPS209", 100],
    [Object.assign(new Error("x"), { syscall: "open", code: "ENOSPC" }), "GPS208", "back off"],
    // On a full disk, every call can succeed although the file is too short.
    [new FileError("short write: 0 of 100 bytes"), "GPS208", "back off"],
    [new TypeError("x"), "GPS228", "back off"],
  ];
  for (const [error, code, again] of errors)
    assert.partialDeepStrictEqual(failureStep(error), { action: "wait", code, again });
});

test("writes each message on one line, without control characters, short enough for an Event", () => {
  const line = formatLine("GPS206", `first\n\u001bsecond ${"x".repeat(5000)}`);
  assert.ok(!line.includes("\n") && line.length < 1024);
  assert.match(
    line,
    /^GPS206 config.json, the provider's answer or a hosts.toml cannot be replaced safely \(first second x+\); nothing changes/,
  );
});

type One = Readonly<{ action?: Step["action"]; code: Code; detail?: string }>;

/** Steps with their times in seconds → the logged lines, in short. */
function loggedBy(steps: readonly (readonly [second: number, one: One])[]): string[] {
  let now = 0;
  const limiter = new LogLimiter(() => now);
  return steps.flatMap(([second, { action = "wait", code, detail = "" }]) => {
    now = second * 1000;
    return limiter.admits({ action, code }, `${code} ${detail}`)
      ? [`${second} ${code}${detail}`]
      : [];
  });
}

const fine: One = { action: "nothing", code: "GPS200" };
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

test("logs a restart, a rollback and the end of a withdrawal even after thousands of different lines", () => {
  const growing = Array.from(
    { length: 10_000 },
    (_, n) => [n, { code: "GPS206", detail: ` ${n}` }] as const,
  );
  const after = (
    [
      ["nothing", "GPS200"],
      ["restart", "GPS212"],
      ["record", "GPS216"],
      ["leave", "GPS224"],
    ] as const
  ).map(([action, code], n) => [10_000 + n, { action, code }] as const);
  const lines = loggedBy([...growing, ...after]);
  assert.deepEqual(
    lines.slice(-4).map((line) => line.slice(6)),
    ["GPS200", "GPS212", "GPS216", "GPS224"],
  );
  assert.ok(lines.length <= 10_000 / 60 + 6, `${lines.length} lines`);
});

test("logs an operation only every ten minutes if it fails every 30 s for six hours", () => {
  const tries = Array.from({ length: 720 }, (_, n) => [
    [n * 30, { action: "commit", code: "GPS226" }] as const,
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
      "commit",
      "answer",
      "leave",
    ),
    code: fc.constantFrom<Code[]>("GPS200", "GPS208", "GPS213", "GPS221", "GPS226"),
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
      let present = { code: "", since: 0 };
      for (const { wait, action, code, detail } of steps) {
        now += wait;
        if (present.code !== code) present = { code, since: now };
        if (news.admits({ action, code }, `${code} ${detail}`)) {
          lines.push(now);
          last = code;
        }
        if (now - present.since >= 60_000) assert.equal(last, code);
        assert.ok((lines.at(-101) ?? -Infinity) <= now - 3_600_000);
      }
    }),
    { numRuns: 500 },
  );
});

import assert from "node:assert/strict";
import test from "node:test";
import type { PublishedMode } from "#contract/names.ts";
import type { Order, Report, Result } from "#contract/order.ts";
import type { NewReport, Seen } from "../api/api.ts";
import { isReported } from "../api/objects.ts";
import { orderFor } from "../facts/order.ts";
import { idle, seven } from "../facts/facts.fixture.ts";
import type { Step } from "../facts/step.ts";
import { noContent } from "../journal/journal.ts";
import type { Observed } from "../facts/facts.ts";
import { Reports } from "./reports.ts";

const eight: Order = { revision: 8, digest: "eight's", attempt: seven.attempt + 1 };
const proved: Step = { action: "nothing", code: "GPS200", result: "Proved", again: 30_000 };
const removed: Step = { action: "nothing", code: "GPS224", result: "Removed", again: 30_000 };
const failed: Step = { action: "wait", code: "GPS218", result: "Failed", again: 30_000 };
const refused: Step = { action: "wait", code: "GPS206", result: "Refused", again: 1000 };
const waits: Step = { action: "wait", code: "GPS213", again: 250 };
const withContent: Observed = { order: "none", journal: idle, release: undefined };

/** A report as the object has it. */
const given = (order: Order, result: Result): Report => ({
  ...order,
  result,
  code: "GPS200",
  message: "",
  mode: "Restart",
  version: "1.0.0",
  since: 0,
  time: 0,
});

function place(
  order: Order | undefined,
  report?: Report,
  mode: PublishedMode = "Restart",
  ...started: readonly (number | undefined)[]
) {
  const sent: NewReport[] = [];
  const clock = { now: 0 };
  const lease: { renewed: number | undefined; reads: number } = { renewed: 5001, reads: 0 };
  const own: Seen["own"] = { uid: "u", order, report };
  const seen = { current: own as Seen["own"] };
  const reports = new Reports({
    api: {
      seen: () => ({ secret: "unknown", own: seen.current }),
      report: (next) => void sent.push(next),
      leaseRenewed: () => {
        lease.reads += 1;
        return Promise.resolve(lease.renewed);
      },
    },
    mode,
    version: "1.0.0",
    kubeletStarted: () => Promise.resolve(started.length > 0 ? started[0] : 5000),
    clock: () => clock.now,
  });
  return { reports, sent, clock, lease, seen };
}

const contentsOf = (sent: readonly NewReport[]) =>
  sent.map(({ result, revision, attempt }) => `${result} ${revision} ${attempt}`);
const { attempt } = seven;

const rows: readonly (readonly [
  when: string,
  order: Order | undefined,
  report: Report | undefined,
  step: Step,
  expected: string | undefined,
])[] = [
  ["the ordered content is in force", seven, undefined, proved, `Proved 7 ${attempt}`],
  ["the same, after a failure", seven, given(seven, "Failed"), proved, `Proved 7 ${attempt}`],
  ["content is in force without an order", undefined, undefined, proved, "Proved 7 0"],
  ["a newer order is not answered yet", eight, undefined, proved, undefined],
  [
    "the same, and the content was proved",
    eight,
    given(seven, "Proved"),
    proved,
    `Proved 7 ${attempt}`,
  ],
  ["the newer order failed", eight, given(eight, "Failed"), proved, undefined],
  ["the newer order was refused", eight, given(eight, "Refused"), proved, undefined],
  ["the object claims other content", eight, given(eight, "Proved"), proved, "Proved 7 0"],
  ["the order failed", eight, undefined, failed, `Failed 8 ${eight.attempt}`],
  ["the failure is reported", eight, given(eight, "Failed"), failed, undefined],
  ["a change is under way", seven, undefined, waits, undefined],
];
for (const [when, order, report, step, expected] of rows)
  test(`reports what is true when ${when}`, async () => {
    const { reports, sent } = place(order, report);
    const decidedOn = orderFor({ uid: "u", order, report }, idle);
    assert.equal(await reports.give(step, { ...withContent, order: decidedOn }), step);
    assert.deepEqual(contentsOf(sent), expected === undefined ? [] : [expected]);
  });

test("reports code, message, mode and version", async () => {
  const { reports, sent } = place(seven);
  await reports.give({ ...proved, detail: "a note" }, withContent);
  const { code, message, mode, version, digest } = sent[0] ?? assert.fail("no report");
  assert.deepEqual([code, mode, version, digest], ["GPS200", "Restart", "1.0.0", "seven's"]);
  assert.match(message, /^GPS200 .*\(a note\)/);
});

test("reports a completed withdrawal with the withdrawal's revision", async () => {
  for (const result of ["Proved", "Failed"] as const) {
    const { reports, sent } = place(seven, given(seven, result));
    await reports.give(removed, { ...withContent, journal: undefined, release: eight });
    assert.deepEqual(contentsOf(sent), ["Removed 8 0"]);
  }
});

test("reports nothing while the API server or the object is missing, or if nothing is in force", async () => {
  const { reports, sent, seen } = place(seven);
  for (const journal of [undefined, { ...idle, content: noContent }])
    await reports.give(proved, { ...withContent, journal });
  for (const own of ["unknown", "absent"] as const) {
    seen.current = own;
    assert.equal(await reports.give(proved, withContent), proved);
  }
  assert.deepEqual(sent, []);
});

test("reports a refusal only after it has lasted ten seconds without a break", async () => {
  const { reports, sent, clock } = place(eight);
  const at = async (now: number, step: Step = refused) => {
    clock.now = now;
    return (await reports.give(step, { ...withContent, order: eight })).again;
  };
  assert.equal(await at(0), 1000);
  assert.equal(await at(9500), 500);
  await at(9600, waits);
  assert.equal(await at(9700), 1000);
  await at(19_600);
  assert.deepEqual(sent, []);
  await at(19_700);
  assert.deepEqual(contentsOf(sent), [`Refused 8 ${eight.attempt}`]);
});

test("reports a failure about the order on which the step was decided, not about a newer one", async () => {
  const { reports, sent } = place(eight);
  await reports.give(failed, { ...withContent, order: seven });
  assert.deepEqual(contentsOf(sent), [`Failed 7 ${attempt}`]);
});

/** Reports the lasting step, writes the report into the object, and repeats this. */
async function reported(order: Order | undefined, report: Report | undefined, steps: Step[]) {
  const { reports, sent, clock, seen } = place(order, report);
  let current = report;
  const written: NewReport[] = [];
  for (const step of steps)
    for (let round = 0; round < 6; round += 1) {
      clock.now += 10_000;
      seen.current = { uid: "u", order, report: current };
      await reports.give(step, { ...withContent, order: orderFor(seen.current, idle) });
      const last = sent.at(-1);
      if (last === undefined || isReported(last, current)) continue;
      written.push(last);
      current = { ...last, since: 0, time: 0 };
    }
  return contentsOf(written);
}

const lapses: readonly (readonly [
  when: string,
  order: Order | undefined,
  report: Report,
  expected: readonly string[],
])[] = [
  [
    "it was ordered",
    seven,
    given(seven, "Proved"),
    [`Refused 7 ${attempt}`, `Proved 7 ${attempt}`],
  ],
  [
    "it was never ordered",
    undefined,
    given({ ...seven, attempt: 0 }, "Proved"),
    ["Refused 7 0", "Proved 7 0"],
  ],
  [
    "the node has newer content than it was asked for",
    { ...seven, revision: 6 },
    given({ ...seven, attempt: 0 }, "Proved"),
    ["Refused 7 0", "Proved 7 0"],
  ],
  ["the node has refused newer content", eight, given(eight, "Refused"), []],
  ["newer content has failed", eight, given(eight, "Failed"), []],
];
for (const [when, order, report, expected] of lapses)
  test(`reports once that content is not in force any more, and once that it is again, if ${when}`, async () => {
    assert.deepEqual(await reported(order, report, [refused, proved]), expected);
  });

test("gives no report twice while nothing changes, whatever the object has", async () => {
  const results: readonly Result[] = ["Proved", "Failed", "Refused", "Removed"];
  for (const order of [undefined, seven, eight])
    for (const about of [seven, { ...seven, attempt: 0 }, eight, { ...eight, attempt: 0 }])
      for (const result of results)
        for (const step of [proved, refused]) {
          const when = `${order?.revision} ${result} ${about.revision} ${about.attempt}`;
          const written = await reported(order, given(about, result), [step]);
          assert.equal(new Set(written).size, written.length, `${when}: ${written.join(", ")}`);
        }
});

test("reports a withdrawal that cannot be done with the withdrawal's revision, also if an order is open", async () => {
  for (const order of [seven, "none"] as const) {
    const { reports, sent, clock } = place(seven, given(seven, "Proved"));
    for (const now of [0, 10_000]) {
      clock.now = now;
      await reports.give(refused, { ...withContent, order, release: eight });
    }
    assert.deepEqual(contentsOf(sent), ["Refused 8 0"]);
  }
});

test("after a restart, holds the proof back until the new kubelet process has renewed the node's Lease", async () => {
  const reported = [undefined, given(seven, "Failed"), given({ ...seven, revision: 6 }, "Proved")];
  for (const report of reported) {
    const { reports, sent, lease } = place(seven, report);
    for (const renewed of [undefined, 4999, 5000]) {
      lease.renewed = renewed;
      const { code, action } = await reports.give(proved, withContent);
      assert.deepEqual([code, action], ["GPS267", "wait"]);
    }
    assert.deepEqual(sent, []);
    lease.renewed = 5001;
    assert.equal(await reports.give(proved, withContent), proved);
    assert.deepEqual(contentsOf(sent), [`Proved 7 ${attempt}`]);
  }
});

test("reads no Lease if the content is already proved, or if the mode restarts nothing", async () => {
  const repeated = place(seven, given(seven, "Proved"));
  assert.equal(await repeated.reports.give(proved, withContent), proved);
  const others = place(seven, undefined, "Reread");
  assert.equal(await others.reports.give(proved, withContent), proved);
  assert.deepEqual([repeated.lease.reads, others.lease.reads], [0, 0]);
});

test("holds the proof back while the kubelet's process is unknown", async () => {
  const unknown = place(seven, undefined, "Restart", undefined);
  assert.equal((await unknown.reports.give(proved, withContent)).code, "GPS267");
});

test("keeps a refusal that a failing write interrupts", async () => {
  const { reports, sent, clock } = place(eight);
  const write: Step = { action: "set aside", code: "GPS226", again: 0 };
  for (clock.now = 0; clock.now <= 10_000; clock.now += 1000) {
    await reports.give(write, withContent);
    await reports.give(refused, { ...withContent, order: eight });
  }
  assert.equal(sent.length, 1);
});

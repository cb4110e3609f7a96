import assert from "node:assert/strict";
import { test } from "node:test";
import { object } from "#plugin/object.fixture.ts";
import { expectedSeconds } from "./expected.ts";

type Row = readonly [
  desired: number,
  updated: number,
  spec: Parameters<typeof object>[0]["spec"],
  seconds: number | undefined,
];

const rows: readonly Row[] = [
  [0, 0, {}, undefined],
  [4, 4, {}, 0],
  [4, 0, {}, 36],
  [4, 1, {}, 27],
  [37, 0, {}, 99],
  [37, 0, { rollout: { maxUnavailable: "100%" } }, 9],
  [37, 1, { rollout: { maxUnavailable: 12 } }, 36],
  [4, 0, { rollout: { probation: "1m30s" } }, 376],
  [4, 0, { delivery: { mode: "Reread" } }, 610],
  [4, 1, { delivery: { mode: "Reread" } }, 305],
  [120, 0, { delivery: { mode: "Reread" } }, 612],
  [3, 4, {}, 0],
  [4, 1, { delivery: { mode: "CredentialProvider" } }, 3],
];
for (const [desired, updated, spec, seconds] of rows)
  test(`expects ${seconds} more seconds if ${updated} of ${desired} nodes are updated, with ${JSON.stringify(spec)}`, () => {
    const none = { available: 0, unfit: 0, unreachable: 0, failed: 0 };
    const nodes = { desired, updated, summary: `${updated}/${desired}`, ...none };
    assert.equal(expectedSeconds(object({ ...(spec && { spec }), status: { nodes } })), seconds);
  });

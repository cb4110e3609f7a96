/** The laws of an allowance, for any order of its calls. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Allowance } from "./allowance.ts";

const rate = { perSecond: 2, atOnce: 20 };

test("allows the saved amount at once, and then the rate per second", () => {
  const allowance = new Allowance(rate, 0);
  const taken = Array.from({ length: 25 }, () => allowance.take(1, 0));
  assert.equal(taken.filter(Boolean).length, 20);
  // The debt of five is paid after 2.5 s. After another half second, one is available.
  assert.equal(allowance.when(1, 0), 3000);
  assert.equal(allowance.take(1, 2999), false);
});

test("owes at most the reserve, and saves at most the reserve", () => {
  const allowance = new Allowance(rate, 0);
  assert.equal(allowance.take(1000, 0), false);
  assert.equal(allowance.when(1, 0), 10_500);
  assert.equal(allowance.when(20, 3_600_000), 3_600_000);
  assert.equal(allowance.when(21, 3_600_000), 3_600_500);
});

test("never gives more than was saved plus the rate times the elapsed time", () => {
  const step = fc.record({ wait: fc.nat(3000), amount: fc.nat(30) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
      const allowance = new Allowance(rate, 0);
      let [now, granted] = [0, 0];
      for (const { wait, amount } of steps) {
        now += wait;
        if (allowance.take(amount, now)) granted += amount;
        assert.ok(granted <= rate.atOnce + (now / 1000) * rate.perSecond + 1e-6);
        assert.equal(
          allowance.take(0, allowance.when(0, now)),
          true,
          "gives at the predicted time",
        );
      }
    }),
  );
});

test("does not depend on the system clock", (t) => {
  const allowance = new Allowance({ perSecond: 1e-9, atOnce: 2 });
  assert.equal(allowance.take(1), true);
  t.mock.method(Date, "now", () => 0);
  assert.equal(allowance.take(1), true);
  assert.equal(allowance.take(1), false);
});

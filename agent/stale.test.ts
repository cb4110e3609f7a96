import assert from "node:assert/strict";
import test from "node:test";
import { Stale } from "./stale.ts";
import { type Step, wait } from "./step.ts";

const unreached = wait("GPS210", "back off", "connect ENOENT /host/dbus/system_bus_socket");
const ready: Step = { action: "nothing", code: "GPS200", ready: true, again: 30_000 };

/** Minutes and steps → the code, or `end` with it. */
async function shown(steps: readonly (readonly [minute: number, step: Step, healthy?: boolean])[]): Promise<string[]> {
  let now = 0;
  const stale = new Stale(() => now);
  const seen: string[] = [];
  for (const [minute, step, healthy = true] of steps) {
    now = minute * 60_000;
    const { action, code } = await stale.instead(step, () => Promise.resolve(healthy));
    seen.push(action === "end" ? `end ${code}` : code);
  }
  return seen;
}

test("a bus whose socket is dead or missing for five minutes ends the container, so that the next one has a new mount", async () => {
  for (const why of ["connect ENOENT /x", "connect ECONNREFUSED /x"]) {
    const step = wait("GPS210", "back off", why);
    assert.deepEqual(
      await shown([
        [0, step],
        [4.9, step],
        [5, step],
      ]),
      ["GPS210", "GPS210", "end GPS241"],
    );
  }
});

test("not where somebody answers, nor after it was needless in between; looks that ask nobody do not count", async () => {
  const refused = wait("GPS210", "back off", "org.freedesktop.DBus.Error.AccessDenied: x");
  assert.deepEqual(
    await shown([
      [0, refused],
      [6, refused],
    ]),
    ["GPS210", "GPS210"],
  );
  assert.deepEqual(
    await shown([
      [0, unreached],
      [3, refused],
      [6, unreached],
    ]),
    ["GPS210", "GPS210", "GPS210"],
  );
  assert.deepEqual(
    await shown([
      [0, unreached],
      [3, ready],
      [6, unreached],
    ]),
    ["GPS210", "GPS200", "GPS210"],
  );
  const changing = wait("GPS209", 250);
  assert.deepEqual(
    await shown([
      [0, unreached],
      [3, changing],
      [6, unreached],
    ]),
    ["GPS210", "GPS209", "end GPS241"],
  );
});

test("not while the kubelet is down: it would start no container, and we are the one to revive it", async () => {
  assert.deepEqual(
    await shown([
      [0, unreached],
      [6, unreached, false],
      [7, unreached],
    ]),
    ["GPS210", "GPS210", "end GPS241"],
  );
});

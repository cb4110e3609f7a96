/** A bus's socket that answers nobody, as tables. */
import test from "node:test";
import { absent, idle, check, restarting, ungranted, unit } from "../facts/facts.fixture.ts";

const minute = 60_000;
const unreached = { unknown: "connect ENOENT /host/dbus/system_bus_socket" };
const long = { unit: unreached, stopwatch: { unreached: 5 * minute } };

test("a bus whose socket is dead or missing for five minutes ends the container, so that the next one has a new mount", () => {
  for (const journal of [undefined, { ...idle, content: "six" }, restarting])
    check([
      ["at first", { ...(journal && { journal }), file: absent, unit: unreached }, "wait GPS210"],
      [
        "nearly",
        {
          ...(journal && { journal }),
          file: absent,
          ...long,
          stopwatch: { unreached: 4.9 * minute },
        },
        "wait GPS210",
      ],
      ["for so long", { ...(journal && { journal }), file: absent, ...long }, "end GPS241"],
    ]);
  check([["before the first grant", { ...ungranted, ...long }, "end GPS241"]]);
});

test("an agent does not end where the bus is not needed, or systemd has answered", () => {
  check([
    ["in force", { journal: idle, ...long }, "nothing GPS200 ready"],
    ["config.json changes", { journal: idle, file: { kind: "changing" }, ...long }, "wait GPS209"],
    ["it answers", { journal: restarting, unit }, "restart GPS212 → restarting"],
  ]);
});

test("not while the kubelet is down: it would start no container, and we are the one to revive it", () => {
  check([["silent", { journal: restarting, ...long, healthy: false }, "wait GPS210"]]);
});

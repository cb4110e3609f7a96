/** The agent as it is deployed, inside a memory cgroup with the limit that the DaemonSet sets. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { bundle } from "../../build/bundle.ts";
import { Agent, encode, until } from "./agent.ts";
import { many, nodeFlags } from "./deployed.ts";
import { Place } from "./place.ts";

const limit = 96 * 1024 * 1024;
const hierarchy = "/sys/fs/cgroup/memory";

/** A cgroup of its own below the root of the memory controller (version 1), so that nobody else's limit counts. */
function cgroup(t: TestContext): string {
  const group = join(hierarchy, `gps-test-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, "memory.limit_in_bytes"), String(limit));
  t.after(async () => {
    await until(() => readFileSync(join(group, "cgroup.procs"), "utf8") === "");
    rmdirSync(group);
  });
  return group;
}

const skip = !existsSync(join(hierarchy, "memory.limit_in_bytes")) && "needs the memory controller of cgroup version 1";

test("a limit of 96 MiB is never hit with a 1 MiB Secret beside 1 MiB of others' entries", { skip }, async (t) => {
  const group = cgroup(t);
  const read = (name: string) => readFileSync(join(group, name), "utf8");
  const program = (await bundle()).find((path) => path.endsWith("/agent.cjs")) ?? "";
  await using place = await Place.make();
  const { node, systemd } = place;
  const theirs = Object.entries(many("n")).map(([key, one]) => [key, { auth: encode(one) }] as const);
  writeFileSync(node.config, JSON.stringify({ auths: Object.fromEntries(theirs) }));
  const under = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group];
  const options = { healthzPort: systemd.healthzPort, program, nodeFlags: nodeFlags(node), under };
  for (const revision of [1, 2, 3]) {
    node.mount(revision, revision === 3 ? {} : { additional: many(`s${revision}-`) });
    await using agent = await Agent.start(node, { ...options, revision });
    await agent.shows(200, revision === 3 ? "GPS224" : "GPS200", 60_000);
    assert.match(read("cgroup.procs"), new RegExp(`^${agent.child.pid}$`, "m"));
    const anonymous = Number(/^rss (\d+)$/m.exec(read("memory.stat"))?.[1]) / 1024 / 1024;
    t.diagnostic(`revision ${revision}: ${anonymous.toFixed(1)} MiB of its own`);
  }
  assert.equal(JSON.parse(node.file ?? "").auths["s1-0.example"], undefined);
  const most = Number(read("memory.max_usage_in_bytes"));
  t.diagnostic(`at most ${(most / 1024 / 1024).toFixed(1)} MiB with the files that it read and wrote`);
  assert.match(read("memory.oom_control"), /^oom_kill 0$/m);
  assert.ok(most < limit, `${most} bytes`);
});

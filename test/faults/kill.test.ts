/**
 * SIGKILL at every point: strace kills the agent as it enters its nth call that changes or opens a
 * file, or it dies as systemd hears its nth request; the next agent goes on. Whatever the point,
 * the end is the one of an agent that was never killed, and no restart is made twice.
 *
 * `npm test` takes a sample of the points (sample.ts).
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { kubeadmFlagsFile, providerFiles } from "#contract/names.ts";
import { judgeConfig } from "#pullsecret/provider/config.ts";
import { flagsIn, toldOf } from "#pullsecret/provider/flags.ts";
import {
  AgentProcess,
  type ProbeAnswer,
  type MountedSources,
  encode,
  keeping,
} from "../harness/agent/agent.ts";
import { ageJournal, atATime, carriedOn, endedWhen, phaseOf } from "./phases.ts";
import { content, ours, AgentPlace } from "./place.ts";
import { answered, hasAsked, installProvider } from "./provider.ts";
import { killingAt, madeBy, mayFallShort, named, type Point, pointsOf } from "./points.ts";
import { everyPoint, sample } from "../sample.ts";
import { comesBack, crashes } from "../harness/agent/scripted-systemd.ts";

const theirs = `{"auths":{"a.io":{"auth":"${encode("theirs")}"}}}`;

type Always = (place: AgentPlace, where: string) => void;

type Family = Readonly<{
  revision: number;
  /** What the agent ends with. */
  status: ProbeAnswer;
  code: string;
  prepare: () => Promise<AgentPlace>;
  /** What must hold whenever systemd hears a request, or an agent is killed, too. */
  always?: Always;
  /** What must hold at the end. */
  check: (place: AgentPlace, where: string) => void;
  sample: number;
}>;

let tried = 0;
let killed = 0;

async function everywhere(t: TestContext, family: Family): Promise<void> {
  const { revision, status, code } = family;
  let points: readonly Point[];
  {
    await using place = await family.prepare();
    const over = (agent: AgentProcess) =>
      Promise.race([agent.ended(), agent.shows(status, code, 30_000)]);
    const found = watched(place, family.always);
    points = sample(t, await pointsOf(place.node, place.systemd, revision, over), family.sample);
    found();
  }
  const begun = performance.now();
  let kills = 0;
  const missed: string[] = [];
  const broken: string[] = [];
  await atATime(3, points, async (point) => {
    const where = named(point);
    try {
      await using place = await family.prepare();
      const made = await interrupted(place, family, point);
      if (made === "killed") kills += 1;
      else missed.push(`${where} of ${made}`);
      if (made !== "killed" && !mayFallShort(point, made))
        broken.push(`${where}: made ${made} times, and not killed`);
      family.check(place, where);
    } catch (error) {
      broken.push(`${where}: ${told(error)}`);
    }
  });
  const seconds = Math.round((performance.now() - begun) / 1000);
  t.diagnostic(
    `${points.length} points, ${kills} kills, ${seconds} s, not reached: ${missed.join(", ") || "none"}`,
  );
  assert.deepEqual(broken, []);
  tried += points.length;
  killed += kills;
}

/** What failed; of an assertion, whose words are the point alone, which one and what it found. */
function told(error: unknown): string {
  if (!(error instanceof assert.AssertionError)) return String(error);
  const [, line = ""] = error.stack?.split("\n    at ").slice(1, 3) ?? [];
  return `found ${JSON.stringify(error.actual)}, expected ${JSON.stringify(error.expected)} ${line}`;
}

/**
 * Looks at what must always hold whenever systemd hears a request; what it answers throws where it
 * did not.
 */
function watched(place: AgentPlace, always: Always | undefined): () => void {
  const found: unknown[] = [];
  place.systemd.onCall = (call) => {
    try {
      always?.(place, call);
    } catch (error) {
      found.push(error);
    }
  };
  return () => {
    if (found.length > 0) throw found[0];
  };
}

/**
 * Runs an agent that is killed at the point, and to its end where it was not, then one that is not,
 * until it shows the code. Of the first answers that it was killed, or how often it did what it was
 * to be killed at.
 */
async function interrupted(
  place: AgentPlace,
  family: Family,
  point: Point,
): Promise<"killed" | number> {
  const { node, systemd } = place;
  const { revision, status, code, always } = family;
  const options = { revision, healthzPort: systemd.healthzPort };
  const found = watched(place, always);
  let made: "killed" | number;
  {
    await using first = await AgentProcess.start(node, {
      ...options,
      under: killingAt(node, point),
    });
    let heard = 0;
    const watch = systemd.onCall;
    systemd.onCall = (member) => {
      watch(member);
      if (point.heard && member === point.call && (heard += 1) === point.nth)
        first.child.kill("SIGKILL");
    };
    const shown = first.shows(status, code, 30_000);
    await Promise.race([first.ended(), shown]);
    // Of one that was killed nobody waits for an answer any more.
    shown.catch(() => {});
    // The last points are those of its end.
    if ((await first.end("SIGTERM")) === "SIGKILL") made = "killed";
    else made = point.heard ? heard : await madeBy(first, node, point);
    systemd.onCall = watch;
  }
  always?.(place, `killed at ${named(point)}`);
  await carriedOn(node, options, status, code);
  found();
  return made;
}

async function prepare(): Promise<AgentPlace> {
  const place = await AgentPlace.make();
  place.systemd.startLimitMicros = 100_000n;
  writeFileSync(place.node.config, theirs, { mode: 0o640 });
  return place;
}

test("an agent killed at any point of an apply is made good by the next one, with one restart", async (t) => {
  await everywhere(t, {
    revision: 1,
    status: 200,
    code: "GPS200",
    prepare,
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.equal(node.file, ours, where);
      assert.equal(systemd.restartCalls, 1, where);
      assert.deepEqual(node.kept, keeping(theirs), where);
      assert.equal(
        JSON.parse(readFileSync(`${node.folder}/journal.json`, "utf8")).phase,
        "applied",
        where,
      );
    },
  });
});

test("an agent killed at any point of a withdrawal is made good by the next one, and nothing of ours is left", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS224",
    prepare: async () => {
      const place = await prepare();
      const { node, systemd } = place;
      await using agent = await AgentProcess.start(node, {
        revision: 1,
        healthzPort: systemd.healthzPort,
      });
      await agent.shows(200, "GPS200");
      node.mount(2, {});
      node.newPod();
      return place;
    },
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.equal(node.file, theirs, where);
      assert.equal(systemd.restartCalls, 2, where);
      assert.ok(!existsSync(node.folder), where);
      // Killed between its last words and the mark, it says them again.
      assert.equal(readFileSync(`${node.pod}/word`, "latin1"), "released\n", where);
    },
  });
});

test("H18: an agent killed at any point of a rollback is made good by the next one, with no restart too many", async (t) => {
  await everywhere(t, {
    revision: 1,
    status: "5nn",
    code: "GPS219",
    prepare: async () => {
      const place = await prepare();
      const { node, systemd } = place;
      systemd.fate = () => (node.file === ours ? crashes : comesBack);
      return place;
    },
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.equal(node.file, theirs, where);
      assert.equal(systemd.restartCalls, 4, where);
      assert.equal(systemd.active, "active", where);
      assert.deepEqual(node.kept, keeping(theirs), where);
    },
  });
});

test("H18: a journal of version 1 is read in mid-change, and an agent killed at any point then is made good", async (t) => {
  const phases = [
    ["applying", "GPS200", 1],
    ["restoring", "GPS219", 4],
  ] as const;
  for (const [phase, code, restarts] of phases)
    await everywhere(t, {
      revision: 1,
      status: code === "GPS200" ? 200 : "5nn",
      code,
      prepare: async () => {
        const place = await prepare();
        const { node, systemd } = place;
        if (phase === "restoring") systemd.fate = () => (node.file === ours ? crashes : comesBack);
        const options = { revision: 1, healthzPort: systemd.healthzPort };
        assert.equal(
          await endedWhen(node, options, () => phaseOf(node) === phase, "SIGKILL"),
          "SIGKILL",
        );
        ageJournal(node);
        return place;
      },
      sample: 2,
      check: ({ node, systemd }, where) => {
        assert.equal(node.file, code === "GPS200" ? ours : theirs, where);
        assert.equal(systemd.restartCalls, restarts, where);
        assert.deepEqual(node.kept, keeping(theirs), where);
        assert.equal(
          JSON.parse(readFileSync(`${node.folder}/journal.json`, "utf8")).version,
          3,
          where,
        );
      },
    });
});

const provider = ["--delivery=CredentialProvider", "--restart=Never"];

/** Revision 1 is in force by this delivery; the next has begun: revision 2 is mounted. */
async function provided(by: readonly string[], then: readonly string[], next: MountedSources) {
  const place = await prepare();
  const { node, systemd } = place;
  writeFileSync(node.config, elsewhere, { mode: 0o640 });
  installProvider(node.kubelet);
  node.flags = by;
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: systemd.healthzPort,
  });
  await agent.shows(200, "GPS200");
  node.mount(2, next);
  node.newPod();
  node.flags = then;
  return place;
}

const elsewhere = `{"auths":{"b.io":{"auth":"${encode("theirs")}"}}}`;
const both = JSON.stringify({
  auths: { "b.io": { auth: encode("theirs") }, "a.io": { auth: encode("ours") } },
});

test("an agent killed at any point of a rotation by a credential provider is made good, and no kubelet is restarted", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS200",
    prepare: () => provided(provider, provider, { additional: { "a.io": "second" } }),
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), { "a.io": "second" }, where);
      assert.equal(node.file, elsewhere, where);
      assert.equal(systemd.restartCalls, 0, where);
    },
  });
});

test("an agent killed at any point of a withdrawal from a credential provider is made good, and the answer is empty", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS224",
    prepare: () => provided(provider, provider, {}),
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), {}, where);
      assert.equal(node.file, elsewhere, where);
      assert.ok(!existsSync(node.folder), where);
      assert.equal(systemd.restartCalls, 0, where);
    },
  });
});

const given = 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///x.sock --v=2"\n';
const registering = ["--delivery=CredentialProvider", "--registration=Agent"];

/** A node of kubeadm's, whose kubelet is started with what its file says at that moment. */
async function kubeadm(): Promise<AgentPlace> {
  const place = await prepare();
  const { node, systemd } = place;
  writeFileSync(node.config, elsewhere, { mode: 0o640 });
  const env = join(node.kubelet, kubeadmFlagsFile);
  writeFileSync(env, given);
  node.flags = registering;
  systemd.commandOf = () => {
    const text = readFileSync(env, "utf8");
    // A kubelet whose flags name what is missing does not start.
    if (flagsIn(text) === "with")
      for (const name of [providerFiles.script, providerFiles.config])
        assert.ok(existsSync(join(node.kubelet, name)), `${name} is missing at a start`);
    return `/usr/bin/kubelet ${/"(.*)"/.exec(text)?.[1] ?? ""}`;
  };
  return place;
}

test("an agent killed at any point of a registration is made good, with one restart", async (t) => {
  await everywhere(t, {
    revision: 1,
    status: 200,
    code: "GPS200",
    prepare: kubeadm,
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
      assert.equal(toldOf(systemd.command), "ours", where);
      assert.equal(systemd.restartCalls, 1, where);
      assert.equal(node.file, elsewhere, where);
    },
  });
});

test("an agent killed at any point of a registration's withdrawal is made good: kubeadm's file is as it was, and nothing of ours is left", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS224",
    prepare: async () => {
      const place = await kubeadm();
      const { node, systemd } = place;
      await using agent = await AgentProcess.start(node, {
        revision: 1,
        healthzPort: systemd.healthzPort,
      });
      await agent.shows(200, "GPS200");
      node.mount(2, {});
      node.newPod();
      return place;
    },
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.equal(readFileSync(join(node.kubelet, kubeadmFlagsFile), "utf8"), given, where);
      assert.equal(toldOf(systemd.command), "none", where);
      assert.ok(!existsSync(join(node.kubelet, providerFiles.folder)), where);
      assert.ok(!existsSync(node.folder), where);
      assert.equal(node.file, elsewhere, where);
      assert.equal(systemd.restartCalls, 2, where);
    },
  });
});

test("H18: an agent killed at any point while a registration is rolled back is made good: kubeadm's file is as it was", async (t) => {
  await everywhere(t, {
    revision: 1,
    status: "5nn",
    code: "GPS219",
    prepare: async () => {
      const place = await kubeadm();
      const { systemd } = place;
      systemd.fate = () => (toldOf(systemd.commandOf()) === "ours" ? crashes : comesBack);
      return place;
    },
    sample: 2,
    check: ({ node, systemd }, where) => {
      assert.equal(readFileSync(join(node.kubelet, kubeadmFlagsFile), "utf8"), given, where);
      assert.equal(systemd.active, "active", where);
      assert.equal(systemd.restartCalls, 4, where);
    },
  });
});

/** Never none: at any instant of a change from one to the other, one of them has it. */
function served({ node }: AgentPlace, where: string): void {
  const { auths } = JSON.parse(node.file ?? "{}") as { auths?: Record<string, { auth: string }> };
  const inFile = auths?.["a.io"]?.auth === encode("ours");
  assert.ok(inFile || answered(node.kubelet)?.["a.io"] === "ours", `served by nobody: ${where}`);
}

test("an agent killed at any point of a change to the credential provider is made good: both have it until the kubelet has asked", async (t) => {
  for (const asked of [false, true])
    await everywhere(t, {
      revision: 2,
      status: asked ? "5nn" : 200,
      // Where config.json has changed, the kubelet is given its five minutes.
      code: asked ? "GPS254" : "GPS200",
      prepare: async () => {
        const place = await provided([], provider, content);
        if (asked) hasAsked(place.node.kubelet);
        return place;
      },
      sample: 2,
      always: served,
      check: ({ node, systemd }, where) => {
        assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
        assert.equal(node.file, asked ? elsewhere : both, where);
        assert.equal(systemd.restartCalls, 1, where);
      },
    });
});

test("an agent killed at any point of a change back to config.json is made good: the answer is emptied when the restart is proved", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS200",
    prepare: () => provided(provider, [], content),
    sample: 2,
    always: answering,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), {}, where);
      assert.equal(node.file, both, where);
      assert.equal(systemd.restartCalls, 1, where);
    },
  });
});

/** Never none: the answer stays until the restart is proved by which config.json was read. */
function answering(place: AgentPlace, where: string): void {
  served(place, where);
  const { node, systemd } = place;
  const answer = answered(node.kubelet);
  // Read after the answer, which may be emptied at any moment from the proof on.
  const phase = phaseOf(node) ?? "";
  if (systemd.restartCalls === 0 || ["restarting", "settling"].includes(phase))
    assert.deepEqual(answer, { "a.io": "ours" }, where);
}

/** Revision 1 is in force on a node of kubeadm's; the same comes as revision 2, by other flags. */
async function changed(by: readonly string[], then: readonly string[]): Promise<AgentPlace> {
  const place = await kubeadm();
  const { node, systemd } = place;
  node.flags = by;
  await using agent = await AgentProcess.start(node, {
    revision: 1,
    healthzPort: systemd.healthzPort,
  });
  await agent.shows(200, "GPS200");
  node.mount(2, content);
  node.newPod();
  node.flags = then;
  return place;
}

test("an agent killed at any point of a registration after mode Restart is made good: config.json has all until the kubelet asks", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS200",
    prepare: () => changed([], registering),
    sample: 2,
    always: served,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
      assert.equal(node.file, both, where);
      assert.equal(toldOf(systemd.command), "ours", where);
      assert.equal(systemd.restartCalls, 2, where);
    },
  });
});

test("an agent killed at any point of a change of scope is made good: one restart, by the other configuration, and the answer stays", async (t) => {
  await everywhere(t, {
    revision: 2,
    status: 200,
    code: "GPS200",
    prepare: () => changed(registering, [...registering, "--scope=Annotated"]),
    sample: 2,
    always: served,
    check: ({ node, systemd }, where) => {
      assert.deepEqual(answered(node.kubelet), { "a.io": "ours" }, where);
      assert.equal(node.file, elsewhere, where);
      assert.equal(toldOf(systemd.command), "ours", where);
      const config = readFileSync(join(node.kubelet, providerFiles.config));
      assert.ok(judgeConfig(config, "Annotated").ok, where);
      assert.equal(systemd.restartCalls, 2, where);
    },
  });
});

test("the agents above were really killed: at 200 points and more of a full run", (t) => {
  t.diagnostic(`${tried} points, ${killed} kills`);
  assert.ok(killed >= (everyPoint ? 200 : 1), `${killed} of ${tried}`);
});

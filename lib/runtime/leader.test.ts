import assert from "node:assert/strict";
import { test } from "node:test";
import type { V1Lease } from "@kubernetes/client-node";
import { ApiError } from "#kube/client/api-error.ts";
import type { Cluster } from "#kube/client/cluster.ts";
import { createLeader, type Leader } from "./leader.ts";

/** An API server with one Lease, and a clock that all controllers share. */
class World {
  seconds = 0;
  stored: V1Lease | undefined;
  version = 10;
  down = false;
  /** Seconds until the answer to a write arrives. The write itself takes effect at once. */
  delay = 0;
  /** The status of the answer to a write for a version of an absent Lease. */
  absent = 409;
  writes: string[] = [];
  /** Writes that could not take back a field that someone has edited. */
  unforced = 0;
  /** Writes of an object with another name than its path. */
  misnamed = 0;

  get cluster(): Pick<Cluster, "get" | "apply"> {
    return {
      get: async <T>() => this.#answer(() => structuredClone(this.stored) as T),
      apply: async <T>(path: string, body: object, { force }: { force: boolean }) =>
        this.#answer(() => {
          if (!force) this.unforced += 1;
          const { metadata, spec } = body as V1Lease;
          if (!path.endsWith(`/${metadata?.name}`)) this.misnamed += 1;
          const fits =
            metadata?.resourceVersion === (this.stored?.metadata?.resourceVersion ?? "1");
          const status = this.stored === undefined ? this.absent : 409;
          if (!fits) throw new ApiError({ status, reason: "Conflict", method: "PATCH", path });
          this.writes.push(spec?.holderIdentity ?? "");
          this.change(spec);
          this.seconds += this.delay;
          return structuredClone(this.stored) as T;
        }),
    };
  }

  change(spec: V1Lease["spec"]): void {
    this.stored = {
      metadata: { uid: "u", resourceVersion: String(++this.version) },
      ...(spec && { spec }),
    };
  }

  #answer<T>(make: () => T): T {
    if (this.down)
      throw new ApiError({ status: 0, reason: "Unreachable", method: "GET", path: "" });
    return make();
  }
}

/** Runs a controller until `script` ends it. `script` is called at each pause, when time passes. */
async function play(
  world: World,
  me: string,
  script: (at: number, leader: Leader) => boolean | void,
) {
  const stop = new AbortController();
  const said: string[] = [];
  const leader: Leader = createLeader({
    cluster: world.cluster,
    path: "/lease",
    me,
    clock: () => world.seconds,
    now: () => new Date(world.seconds * 1000),
    pause: async (seconds) => {
      if (script(world.seconds, leader) === true) stop.abort();
      if (!stop.signal.aborted) world.seconds += seconds;
    },
    holder: (name) => said.push(`holder ${name}`),
    failed: () => {},
    lost: (why) => said.push(`lost: ${why}`),
  });
  await leader.until(stop.signal);
  assert.deepEqual([world.unforced, world.misnamed], [0, 0]);
  return { said, leader };
}

const held = (holderIdentity: string, renewTime = "r") =>
  ({
    holderIdentity,
    leaseDurationSeconds: 15,
    leaseTransitions: 3,
    renewTime,
  }) as unknown as V1Lease["spec"];

test("takes the Lease first, renews it, and releases it at the end", async () => {
  const world = new World();
  const { said } = await play(world, "a", (at, leader) => {
    assert.ok(leader.holds());
    return at > 60;
  });
  assert.deepEqual(said, ["holder a"]);
  assert.equal(world.writes.at(-1), "");
  assert.ok(
    world.writes.length > 60 / 5 && world.writes.length < 60 / 3,
    `${world.writes.length} writes`,
  );
});

test("takes over as a standby within 20 s after the last renewal of a dead holder", async () => {
  const world = new World();
  world.change(held("dead"));
  const { said } = await play(world, "b", (_, leader) => leader.holds());
  assert.deepEqual(said, ["holder dead", "holder b"]);
  assert.ok(world.seconds < 20, `${world.seconds} s`);
});

test("waits as a standby while another process renews", async () => {
  const world = new World();
  world.change(held("a"));
  await play(world, "b", (at, leader) => {
    assert.ok(!leader.holds());
    world.change(held("a", String(Math.floor(at / 8))));
    return at > 200;
  });
  assert.deepEqual(world.writes, []);
});

test("keeps the Lease while the API server is away for less than the deadline", async () => {
  const world = new World();
  const { said } = await play(world, "a", (at) => {
    world.down = at > 20 && at < 24;
    return at > 60;
  });
  assert.deepEqual(said, ["holder a"]);
});

test("when the API server is away beyond the deadline, ends the holder without another write and without a release", async () => {
  const world = new World();
  const { said, leader } = await play(world, "a", (at) => {
    world.down = at > 20;
    return at > 100;
  });
  assert.deepEqual(said, ["holder a", "lost: not renewed for 10 s"]);
  assert.ok(world.seconds < 40);
  assert.ok(!leader.holds());
  assert.equal(world.writes.at(-1), "a");
});

test("ends a suspended holder without a write if another process has taken over", async () => {
  const world = new World();
  const { said, leader } = await play(world, "a", (at) => {
    if (at < 20 || world.seconds > 100) return;
    world.change(held("b"));
    world.seconds += 100;
  });
  assert.deepEqual(said, ["holder a", "lost: not renewed for 10 s"]);
  assert.ok(!leader.holds());
  assert.equal(world.stored?.spec?.holderIdentity, "b");
});

test("ends a holder at its next renewal when another process has taken its Lease", async () => {
  const world = new World();
  const { said } = await play(world, "a", (at) => {
    if (at > 5 && world.stored?.spec?.holderIdentity === "a") world.change(held("b"));
  });
  assert.deepEqual(said, ["holder a", "lost: taken by b"]);
  assert.equal(world.stored?.spec?.holderIdentity, "b");
});

test("keeps a Lease that another client deletes or annotates", async () => {
  for (const absent of [409, 404]) {
    const world = Object.assign(new World(), { absent });
    let round = 0;
    const { said } = await play(world, "a", (at) => {
      round += 1;
      if (round === 3) world.stored = undefined;
      if (absent === 409 && round === 5) world.change(world.stored?.spec);
      return at > 60;
    });
    assert.deepEqual(said, ["holder a"], String(absent));
  }
});

test("lets one of two processes create a missing Lease, while the other waits", async () => {
  const world = new World();
  const late = world.cluster.get;
  let first = true;
  const raced = {
    ...world.cluster,
    // The first process writes between the read and the write of the second process.
    get: async <T>(path: string) => {
      const answer = await late<T>(path);
      if (first) world.change(held("quick"));
      first = false;
      return answer;
    },
  };
  const slow = Object.create(world, { cluster: { value: raced } }) as World;
  await play(slow, "slow", (at, leader) => {
    assert.ok(!leader.holds());
    return at > 5;
  });
  assert.equal(world.stored?.spec?.holderIdentity, "quick");
});

test("is not elected by a write that was answered after the deadline", async () => {
  const world = new World();
  world.delay = 10;
  const { said } = await play(world, "a", (at, leader) => {
    assert.ok(!leader.holds());
    world.delay = at > 20 ? 0 : 10;
    return at > 20;
  });
  assert.deepEqual(said, []);
});

test("counts a holder's time from when it sent a renewal, however late the answer is", async () => {
  const world = new World();
  const answered: number[] = [];
  const { said } = await play(world, "a", (at, leader) => {
    if (answered.length > 0) {
      // The answer took 6 s; 5 s more exceed the deadline.
      world.seconds += 5;
      assert.ok(!leader.holds());
      return true;
    }
    world.delay = 6;
    if (at > 8) answered.push(at);
    return false;
  });
  assert.deepEqual(said, ["holder a", "lost: not renewed for 10 s"]);
});

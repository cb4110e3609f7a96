/** Reads and requests of a round, with real files and with a fake systemd and healthz. */
import assert from "node:assert/strict";
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { providerFiles } from "#contract/names.ts";
import { hasAsked, installProvider } from "#test/faults/provider.ts";
import { encode } from "#test/harness/agent/mounted.ts";
import { keeping, NodeDirectory } from "../test/harness/agent/node-directory.ts";
import type { Seen } from "./api/api.ts";
import { act } from "./execute.ts";
import { parseConfig } from "./facts/config.ts";
import { needsProc as skip } from "./files/needs.fixture.ts";
import { idle, reviving, unit } from "./facts/facts.fixture.ts";
import type { Reviving } from "./journal/journal.ts";
import { saveJournal } from "./journal/store.ts";
import { Observer } from "./observer.ts";
import { bootTime, History } from "./observe/stopwatch.ts";
import type { Healthz, Observed } from "./facts/facts.ts";
import type { Step } from "./facts/step.ts";
import type { Systemd } from "./systemd/systemd.ts";

const minute = 60_000;
const content = { additional: { "a.io": "ours" } };

class Place {
  readonly node = new NodeDirectory();
  now = 0;
  /** The requests since the last round began; `read`: a file was opened. */
  asked: string[] = [];
  healthy = true;
  /** Whether anybody listens at healthz. */
  listens = true;
  /** How many milliseconds ago the node's Lease was renewed. */
  renewed = Number.POSITIVE_INFINITY;
  unitName = unit.name;
  isAlone = true;
  /** The API server has sent the Secret. Until then, the agent reads the volume. */
  hasSecret = false;
  /** Why the next container has another kubelet's directory. */
  elsewhere: string | undefined;
  starts = 0;
  started = 0;
  readonly #effects;
  observer: Observer;
  readonly #observing: () => Observer;

  readonly history = new History(() => this.now);

  constructor(t: TestContext, others: readonly string[] = []) {
    const { node } = this;
    node.isFor(others);
    node.mount(1, content);
    node.ask(1);
    const directories = { secret: node.secret, kubelet: node.kubelet };
    const flags = Object.entries(directories).map(([name, path]) => `--${name}-directory=${path}`);
    const parsed = parseConfig([...flags, "--probation=0s", ...others], {
      NODE_NAME: "n",
      KUBERNETES_SERVICE_HOST: "::1",
      KUBERNETES_SERVICE_PORT: "1",
    });
    assert.ok(parsed.ok);
    const config = parsed.value;
    const clock = () => this.now;
    this.#effects = {
      config,
      systemd: this.#systemd(),
      history: this.history,
      lock: { release: () => {} },
      unsaved: () => assert.fail("cannot save the journal"),
    };
    const acquire = () => Promise.resolve(this.isAlone);
    const healthz = () => this.#healthz();
    const seen = (): Seen => (this.hasSecret ? node.seen() : { ...node.seen(), secret: "unknown" });
    const leaseRenewed = () => Promise.resolve(Date.now() - this.renewed);
    const time = { now: Date.now, clock, bootTime };
    const inputs = { ...this.#effects, ...time, leaseRenewed, healthz, acquire, seen };
    this.#observing = () => new Observer({ ...inputs, elsewhere: this.elsewhere });
    this.observer = this.#observing();
    const open = t.mock.method(fs, "openSync");
    syncBuiltinESMExports();
    this.#opened = () => open.mock.callCount();
    t.after(() => {
      node[Symbol.dispose]();
      open.mock.restore();
      syncBuiltinESMExports();
    });
  }

  readonly #opened: () => number;

  /** Restarts the container in the same pod. */
  restarts(): void {
    this.observer = this.#observing();
  }

  get observed(): Observed {
    return this.observer.observed;
  }

  /** Runs a round half a minute later. */
  async observe(): Promise<Step> {
    this.now += minute / 2;
    this.asked = [];
    const before = this.#opened();
    const step = await this.observer.next();
    if (this.#opened() > before) this.asked.push("read");
    return step;
  }

  async acts(): Promise<Step> {
    const step = await this.observe();
    await act(step, this.#effects);
    this.observer.acted(step);
    return step;
  }

  /** Runs rounds and executes their steps until there is nothing to do. */
  async rests(): Promise<Step> {
    for (let rounds = 0; rounds < 30; rounds += 1) {
      const step = await this.acts();
      if (step.action === "nothing" || step.code === "GPS254") return step;
    }
    return assert.fail("there is still something to do");
  }

  #healthz(): Promise<Healthz> {
    this.asked.push("healthz");
    if (!this.listens) return Promise.resolve("nobody");
    return Promise.resolve(this.healthy ? "answers" : "silent");
  }

  #systemd(): Systemd {
    const answer = () => {
      this.asked.push("unit");
      const { unitName: name, started } = this;
      return { ...unit, name, invocation: String(this.starts), started };
    };
    return {
      unit: async () => answer(),
      states: async () => [answer()],
      resetFailed: async () => {},
      restart: async (_unit, recorded) => {
        await recorded();
        this.starts += 1;
        this.started = bootTime().monotonic + 1;
        return { result: "done" };
      },
      disconnect: () => {},
    };
  }
}

test(
  "asks and reads nothing while nothing changes, and reads everything after any change",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { config, folder } = place.node;
    const changes: Readonly<Record<string, () => void>> = {
      "the first round": () => {},
      "the Secret is swapped": () => place.node.mount(1, content),
      "config.json is written, and its time is set back": () => {
        writeFileSync(config, place.node.file ?? "");
        utimesSync(config, 0, 0);
      },
      "the journal is written": () => writeFileSync(join(folder, "journal.json"), "[]"),
      "a file appears in our folder": () => writeFileSync(join(folder, "stray"), ""),
      "the folder is gone": () => rmSync(folder, { recursive: true }),
    };
    for (const [change, make] of Object.entries(changes)) {
      make();
      const { action } = await place.observe();
      assert.ok(place.asked.includes("read") || action !== "nothing", change);
      assert.equal((await place.rests()).code, "GPS200", change);
      await place.observe();
      for (let rounds = 0; rounds < 3; rounds += 1) {
        assert.equal((await place.observe()).code, "GPS200", change);
        assert.deepEqual(place.asked, [], `long after: ${change}`);
      }
    }
  },
);

test(
  "gives reports the order on which the step was decided, and the withdrawal in the Secret",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    const { order } = node;
    await place.observe();
    node.ask(2);
    assert.deepEqual([place.observed.order, place.observed.release], [order, undefined]);
    node.mount(2, { intent: "release" });
    await place.observe();
    assert.deepEqual(place.observed.release, { revision: 2, digest: node.digest(2) });
  },
);

test(
  "changes nothing in another kubelet's directory, and takes the order in its own",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    place.elsewhere = "another disk";
    place.restarts();
    for (let rounds = 0; rounds < 3; rounds += 1)
      assert.equal((await place.observe()).code, "GPS261");
    node.mount(2, { intent: "release" });
    node.ask(2);
    assert.equal((await place.observe()).code, "GPS261");
    assert.deepEqual([node.file, existsSync(node.folder)], [undefined, false]);
    place.elsewhere = undefined;
    place.restarts();
    assert.equal((await place.rests()).code, "GPS224");
    node.mount(3, content);
    node.ask(3);
    assert.equal((await place.rests()).code, "GPS200");
  },
);

test("skips healthz if restarts are off, because healthz might be off", { skip }, async (t) => {
  const place = new Place(t, ["--restart=Never"]);
  place.healthy = false;
  assert.equal((await place.rests()).code, "GPS254");
  assert.match(place.node.file ?? "", /a\.io/);
  assert.ok(!place.asked.includes("healthz"));
});

test("neither restarts nor judges a unit with more than a kubelet", { skip }, async (t) => {
  const place = new Place(t);
  Object.assign(place, { unitName: "k3s.service", healthy: false });
  assert.equal((await place.rests()).code, "GPS254");
  assert.equal(place.starts, 0);
});

test("takes a recent Lease of this kubelet for a sign of life", { skip }, async (t) => {
  const place = new Place(t);
  place.listens = false;
  for (const [renewed, started, code] of [
    [40_000, 0, "GPS221"],
    [30_000, bootTime().monotonic - 20_000, "GPS221"],
    [30_000, 0, "GPS226"],
  ] as const) {
    Object.assign(place, { renewed, started });
    assert.equal((await place.observe()).code, code);
  }
});

test(
  "writes a deleted journal again, with the state of the node before our first change",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    writeFileSync(node.config, '{"auths":{"a.io":{"auth":"dTp0aGVpcnM="}}}', { mode: 0o600 });
    const theirs = node.file;
    await place.rests();
    const deletions: Readonly<Record<string, () => void>> = {
      "the folder": () => rmSync(node.folder, { recursive: true }),
      "the journal": () => rmSync(join(node.folder, "journal.json")),
      "the other programs' bytes": () => {
        for (const name of node.kept)
          if (name.startsWith("theirs")) rmSync(join(node.folder, name));
      },
    };
    for (const [what, make] of Object.entries(deletions)) {
      make();
      assert.equal((await place.rests()).code, "GPS200", what);
      assert.ok(existsSync(join(node.folder, "journal.json")), what);
    }
    node.mount(2, { intent: "release" });
    node.ask(2);
    assert.equal((await place.rests()).code, "GPS224");
    assert.equal(node.file, theirs);
  },
);

test(
  "writes the journal of its last step again if the folder is deleted before the next round",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    const theirs = '{"auths":{"a.io":{"auth":"dTp0aGVpcnM="}}}';
    writeFileSync(node.config, theirs, { mode: 0o600 });
    assert.equal((await place.acts()).action, "commit");
    rmSync(node.folder, { recursive: true });
    assert.equal((await place.acts()).code, "GPS260");
    assert.deepEqual(node.kept, keeping(theirs));
  },
);

test("forgets its journal while another agent might change the node", { skip }, async (t) => {
  const place = new Place(t);
  const { node } = place;
  await place.rests();
  place.isAlone = false;
  assert.equal((await place.acts()).code, "GPS205");
  rmSync(node.folder, { recursive: true });
  rmSync(node.config);
  place.isAlone = true;
  await place.acts();
  assert.equal(place.observed.journal, undefined);
});

test(
  "keeps a journal that a restart could not save, until a later step saves one",
  { skip },
  async (t) => {
    const place = new Place(t);
    await place.rests();
    const former = place.observed.journal ?? idle;
    const tried = (tries: number): Reviving => ({
      ...reviving,
      theirs: former.theirs,
      content: former.content,
      tries,
    });
    const unsaved = tried(1);
    place.observer.keepUnsaved(unsaved);
    place.observer.acted(restartWith(unsaved));
    assert.equal((await place.observe()).code, "GPS260");
    await saveJournal(place.node.folder, tried(2), former);
    place.observer.acted(restartWith(tried(2)));
    await place.observe();
    assert.deepEqual(place.observed.journal, tried(2));
  },
);

function restartWith(journal: Reviving): Step {
  const restart = { former: journal, resetFirst: true, refused: undefined } as const;
  return { action: "restart", code: "GPS217", again: 0, unit: journal.unit, journal, ...restart };
}

test(
  "asks the kubelet again while it waits for it, but reads no file again",
  { skip },
  async (t) => {
    const place = new Place(t);
    place.healthy = false;
    await place.observe();
    for (let rounds = 0; rounds < 3; rounds += 1) {
      assert.equal((await place.observe()).code, "GPS221");
      assert.deepEqual(
        place.asked.toSorted(),
        rounds < 1 ? ["healthz", "read", "unit", "unit"] : ["healthz", "unit", "unit"],
      );
    }
  },
);

test(
  "reads the Secret that the API server has sent, and not the volume any more",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    await place.rests();
    place.hasSecret = true;
    rmSync(node.secret, { recursive: true });
    mkdirSync(node.secret);
    node.mount(2, { additional: { "a.io": "second" } });
    node.ask(2);
    rmSync(node.secret, { recursive: true });
    await place.rests();
    assert.match(node.file ?? "", new RegExp(encode("second")));
    for (let rounds = 0; rounds < 3; rounds += 1) {
      assert.equal((await place.observe()).code, "GPS200");
      assert.deepEqual(place.asked, rounds < 1 ? ["read"] : []);
    }
  },
);

test(
  "notices a drift, repairs it without a restart, and waits for the reread",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { config } = place.node;
    const drifts: Readonly<Record<string, () => void>> = {
      "as many bytes": () => writeFileSync(config, (place.node.file ?? "").replace("a.io", "b.io")),
      "no file": () => rmSync(config),
    };
    await place.rests();
    const { starts } = place;
    for (const [drift, make] of Object.entries(drifts)) {
      make();
      assert.equal((await place.rests()).code, "GPS254", drift);
      assert.match(place.node.file ?? "", /"a\.io"/, drift);
      assert.equal(place.starts, starts, drift);
    }
  },
);

test("reads the Secret in every round if the mount has no `..data` link", { skip }, async (t) => {
  const place = new Place(t);
  const { secret } = place.node;
  const present = readdirSync(secret).find((name) => /^\.\.\d/.test(name)) ?? "";
  for (const name of readdirSync(join(secret, present))) {
    rmSync(join(secret, name));
    fs.copyFileSync(join(secret, present, name), join(secret, name));
  }
  rmSync(join(secret, "..data"));
  await place.rests();
  for (let rounds = 0; rounds < 3; rounds += 1) {
    assert.equal((await place.observe()).code, "GPS200");
    assert.deepEqual(place.asked, ["read"]);
  }
});

test(
  "counts the stamp of the provider's script only since the node booted",
  { skip },
  async (t) => {
    const place = new Place(t, ["--delivery=CredentialProvider"]);
    const { kubelet } = place.node;
    installProvider(kubelet);
    hasAsked(kubelet);
    const booted = Date.now() - bootTime().monotonic;
    utimesSync(join(kubelet, providerFiles.stamp), booted / 1000 - 60, booted / 1000 - 60);
    await place.rests();
    assert.match(place.node.file ?? "", /a\.io/);
    hasAsked(kubelet);
    await place.rests();
    assert.doesNotMatch(place.node.file ?? "", /a\.io/);
  },
);

const own = { auth: Buffer.from("user:own").toString("base64") };
const change = (place: Place, revision: number, asked: Parameters<NodeDirectory["mount"]>[1]) => {
  place.node.mount(revision, asked);
  place.node.ask(revision);
  return place.rests();
};

test(
  "keeps the node's own entry that a withdrawal restored, even if our entry once had the same value",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    const before = JSON.stringify({ auths: { "a.io": own } });
    writeFileSync(node.config, before, { mode: 0o600 });
    await place.rests();
    await change(place, 2, { additional: { "a.io": "own" } });
    // From now on, the file with our entry is, byte for byte, the file that the withdrawal
    // restores.
    writeFileSync(node.config, before, { mode: 0o600 });
    await place.rests();
    await change(place, 3, { additional: { "a.io": "third" } });
    assert.equal((await change(place, 4, { intent: "release" })).code, "GPS224");
    place.restarts();
    assert.equal((await place.rests()).code, "GPS224");
    assert.equal(node.file, before);
    // The next withdrawal also restores the node's own entry, whatever the first withdrawal
    // recorded.
    await change(place, 5, { additional: { "a.io": "fifth" } });
    assert.equal((await change(place, 6, { intent: "release" })).code, "GPS224");
    place.restarts();
    await place.rests();
    assert.equal(node.file, before);
  },
);

test(
  "restores the node's own entry, even if our entry once had the same value and the journal lists newer values only",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    const before = JSON.stringify({ auths: { "a.io": own } });
    writeFileSync(node.config, before, { mode: 0o600 });
    await place.rests();
    await change(place, 2, { additional: { "a.io": "own" } });
    for (let revision = 3; revision < 13; revision += 1)
      await change(place, revision, { additional: { "a.io": `number ${revision}` } });
    assert.equal((await change(place, 13, { intent: "release" })).code, "GPS224");
    assert.equal(node.file, before);
  },
);

for (const flags of [["--delivery=CredentialProvider"], []])
  test(
    "confirms a withdrawal on a node that never had a journal, even if it cannot look for an answer",
    { skip },
    async (t) => {
      const place = new Place(t, flags);
      symlinkSync("/nowhere/here", join(place.node.kubelet, providerFiles.folder));
      assert.equal((await change(place, 2, { intent: "release" })).code, "GPS224");
      assert.ok(!existsSync(place.node.folder));
    },
  );

/** Reads and requests of a round, with real files and with a fake systemd and healthz. */
import assert from "node:assert/strict";
import fs, {
  existsSync,
  mkdirSync,
  readFileSync,
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
import { answerOf } from "#pullsecret/provider.ts";
import { installProvider } from "#test/faults/provider.ts";
import { encode } from "#test/harness/agent/mounted.ts";
import { NodeDirectory } from "../test/harness/agent/node-directory.ts";
import type { Seen } from "./api/api.ts";
import { configJson } from "./delivery/config-json/config-json.ts";
import type { Delivery } from "./delivery/delivery.ts";
import { byProvider, configAfterProvider } from "./delivery/provider/provider.ts";
import { act } from "./execute.ts";
import { parseConfig } from "./facts/config.ts";
import { needsProc as skip } from "./files/needs.fixture.ts";
import type { Observed } from "./facts/facts.ts";
import { unit } from "./facts/facts.fixture.ts";
import { firstJournal } from "./journal/journal.ts";
import { saveJournal } from "./journal/store.ts";
import { Observer } from "./observer.ts";
import { History } from "./observe/stopwatch.ts";
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
  /** The API server has sent the Secret. Until then, the agent reads the volume. */
  hasSecret = false;
  /** Runs while the kubelet is being asked. */
  meanwhile = () => {};
  starts = 0;
  readonly #effects;
  #observer: Observer;
  readonly #observing: () => Observer;

  readonly history = new History(() => this.now);

  constructor(
    t: TestContext,
    others: readonly string[] = [],
    uid = "",
    delivery: Delivery = configJson,
  ) {
    const { node } = this;
    node.isFor(others);
    node.mount(1, content);
    node.ask(1);
    const directories = { secret: node.secret, kubelet: node.kubelet };
    const flags = Object.entries(directories).map(([name, path]) => `--${name}-directory=${path}`);
    const parsed = parseConfig([...flags, ...others], {
      NODE_NAME: "n",
      POD_UID: uid,
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
      delivery,
      lock: { release: () => {} },
    };
    const acquire = () => Promise.resolve(true);
    const healthz = () => this.#healthz();
    const seen = (): Seen => (this.hasSecret ? node.seen() : { ...node.seen(), secret: "unknown" });
    const inputs = { ...this.#effects, healthz, acquire, seen, now: clock, clock };
    this.#observing = () => new Observer(inputs);
    this.#observer = this.#observing();
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
    this.#observer = this.#observing();
  }

  get observed(): Observed {
    return this.#observer.observed;
  }

  /** Runs a round half a minute later. */
  async observe(): Promise<Step> {
    this.now += minute / 2;
    this.asked = [];
    const before = this.#opened();
    const step = await this.#observer.next();
    if (this.#opened() > before) this.asked.push("read");
    return step;
  }

  async acts(): Promise<Step> {
    const step = await this.observe();
    await act(step, this.#effects);
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

  #healthz(): Promise<boolean> {
    this.asked.push("healthz");
    this.meanwhile();
    return Promise.resolve(this.healthy);
  }

  #systemd(): Systemd {
    const answer = () => {
      this.asked.push("unit");
      return { ...unit, invocation: String(this.starts) };
    };
    return {
      unit: async () => answer(),
      states: async () => [answer()],
      resetFailed: async () => {},
      restart: async (_unit, recorded) => {
        await recorded();
        this.starts += 1;
        return { result: "done" };
      },
      disconnect: () => {},
    };
  }
}

test(
  "only asks healthz while nothing changes, and reads everything after any change",
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
        assert.deepEqual(place.asked, ["healthz"], `long after: ${change}`);
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
  "changes nothing in a kubelet's directory until the directory of the agent's pod appears there",
  { skip },
  async (t) => {
    const place = new Place(t, [], "own");
    const { node } = place;
    for (let rounds = 0; rounds < 3; rounds += 1)
      assert.equal((await place.observe()).code, "GPS261");
    node.mount(2, { intent: "release" });
    node.ask(2);
    assert.equal((await place.observe()).code, "GPS261");
    assert.deepEqual([node.file, existsSync(node.folder)], [undefined, false]);
    mkdirSync(join(node.kubelet, "pods", "own"), { recursive: true });
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
      "the previous bytes": () => {
        for (const name of node.kept)
          if (name.startsWith("previous")) rmSync(join(node.folder, name));
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
  "empties the provider's answer on withdrawal although config.json could not be written a moment ago",
  { skip },
  async (t) => {
    const place = new Place(t, [], "", configAfterProvider);
    const { node } = place;
    await place.rests();
    installProvider(node.kubelet);
    const answer = join(node.kubelet, providerFiles.answer);
    const empty = readFileSync(answer);
    writeFileSync(answer, answerOf(new Map([["a.io", { auth: "dTpw" }]])), { mode: 0o600 });
    node.mount(2, { intent: "release" });
    node.ask(2);
    place.history.block("EPERM: rename");
    assert.equal((await place.acts()).action, "restore");
    assert.deepEqual(readFileSync(answer), empty);
    assert.match(node.file ?? "", /a\.io/);
    assert.equal((await place.rests()).code, "GPS224");
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
      assert.deepEqual(place.asked, rounds < 1 ? ["healthz", "read"] : ["healthz"]);
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

test(
  "reports at once that the kubelet does not answer, and reads everything again when the kubelet answers",
  { skip },
  async (t) => {
    const place = new Place(t);
    await place.rests();
    await place.observe();
    place.healthy = false;
    assert.equal((await place.observe()).code, "GPS221");
    place.healthy = true;
    assert.equal((await place.observe()).code, "GPS200");
    assert.deepEqual(place.asked, ["healthz", "read"]);
  },
);

test("reads a file in the next round if it changes during a round", { skip }, async (t) => {
  const place = new Place(t);
  await place.rests();
  place.meanwhile = () => place.node.mount(2, content);
  await place.observe();
  place.meanwhile = () => {};
  await place.observe();
  assert.ok(place.asked.includes("read"));
});

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
    assert.deepEqual(place.asked, ["read", "healthz"].toSorted());
  }
});

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
  "keeps whatever another program writes to config.json after a withdrawal, even a copy with our entry",
  { skip },
  async (t) => {
    const place = new Place(t);
    const { node } = place;
    await change(place, 2, { additional: { "a.io": "own" } });
    const copy = node.file ?? "";
    assert.match(copy, /a\.io/);
    assert.equal((await change(place, 3, { intent: "release" })).code, "GPS224");
    place.restarts();
    const edit = JSON.stringify({ auths: { "a.io": { ...own, email: "a@b.c" }, "b.io": own } });
    for (const text of [copy, edit]) {
      writeFileSync(node.config, text, { mode: 0o600 });
      assert.equal((await place.rests()).code, "GPS224");
      assert.equal(node.file, text);
      assert.ok(!existsSync(node.folder));
    }
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

test(
  "if the journal lists no answer, confirms a withdrawal even if it cannot look for an answer",
  { skip },
  async (t) => {
    const place = new Place(t, [], "", configAfterProvider);
    const { node } = place;
    await place.rests();
    symlinkSync("/nowhere/here", join(node.kubelet, providerFiles.folder));
    const release = { intent: "release" } as const;
    assert.equal((await change(place, 2, release)).code, "GPS224");
    assert.ok(!existsSync(node.folder));
    place.restarts();
    assert.equal((await place.rests()).code, "GPS224");
    // From now on, an answer is ours.
    const owned = { entries: [], rest: [], answer: "digest" };
    const journal = { ...firstJournal({ absent: true }), revision: 1, content: "one", owned };
    await saveJournal(node.folder, journal);
    place.restarts();
    let step = await place.acts();
    for (let rounds = 0; rounds < 3; rounds += 1) step = await place.acts();
    assert.equal(step.code, "GPS206");
  },
);

for (const delivery of [byProvider("All"), configAfterProvider])
  test(
    "confirms a withdrawal on a node that never had a journal, even if it cannot look for an answer",
    { skip },
    async (t) => {
      const place = new Place(t, [], "", delivery);
      symlinkSync("/nowhere/here", join(place.node.kubelet, providerFiles.folder));
      assert.equal((await change(place, 2, { intent: "release" })).code, "GPS224");
      assert.ok(!existsSync(place.node.folder));
    },
  );

/**
 * One random history of a node: publications, orders, other programs, kills, broken and slow
 * kubelets, full disks, lost folders, reboots and changes of the mode, and at last a withdrawal.
 * The laws are checked whenever the node has settled. No code of the product.
 */
import { Random } from "#test/random.ts";
import {
  auths,
  contains,
  type Entries,
  imagesOf,
  isDeadly,
  isOurs,
  none,
  partsOf,
  serves,
} from "./file.ts";
import { law } from "./laws.ts";
import type { Node } from "./node.ts";
import { modes } from "./process.ts";
import { restartPolicies } from "./kubelet.ts";
import { Oracle } from "./oracle.ts";
import { formerAfter, orderedDigest } from "./secret.ts";

const registries = [
  "a.io",
  "a.io/team",
  "docker.io",
  "https://index.docker.io/v1/",
  "b.io:5000",
  "*.d.io",
  "q.io",
];
const starts = [300, 35_000, 450_000, 900_000];
const events = 14;
const restartAttempts = 3;
/** Processes that can die while the agent cannot count them. */
const mostMissed = 2;

type Kind = "apply" | "deadly" | "fewer" | "release";

export class History {
  readonly node: Node;
  readonly #random: Random;
  readonly #oracle: Oracle;
  readonly #isWithProvider: boolean;
  #revision = 0;
  #orders = 0;
  #attempts = 0;
  /** Orders whose kubelet may die, and the other reasons for more restarts. */
  #failing = 0;
  #joins = false;
  /** Deaths that the agent might not count, because systemd's count is gone. */
  #missed = 0;
  /** The kubelet was broken, whatever the file. */
  #isTroubled = false;

  /** `isWithProvider`: with mode CredentialProvider, and changes of the mode. */
  constructor(node: Node, seed: number, isWithProvider: boolean) {
    this.node = node;
    this.#random = new Random(seed);
    this.#oracle = new Oracle(this.#random, node);
    this.#isWithProvider = isWithProvider;
  }

  async run(): Promise<void> {
    const random = this.#random;
    await this.#begin();
    for (let event = 0; event < events; event += 1) {
      await this.node.run(random.pick([0, 5, 250, 1000, 4000, 30_000, 400_000]));
      this.#notice();
      await this.#event(random.fraction());
    }
    this.#publish("release");
    await this.#checkGone();
    await this.#settle();
    const { hasFolder, answered } = this.node;
    law(!hasFolder && answered.size === 0, "our folder or answer stays");
    this.node.hosts?.checkWithdrawn();
    this.#oracle.checkWithdrawn();
  }

  async #begin(): Promise<void> {
    const { node } = this;
    const random = this.#random;
    this.#oracle.begin();
    node.kubelet.policy = random.pick(restartPolicies);
    node.kubelet.isNotifying = random.once(2);
    node.kubelet.startMs = random.pick([300, 300, ...starts]);
    node.mode = random.pick(
      this.#isWithProvider ? modes : (["Restart", "Restart", "Reread"] as const),
    );
    this.#publish("apply");
    if (random.once(4)) {
      // A joining node takes what is served.
      node.secret = { ...node.secret, served: node.secret.newest };
      this.#oracle.allowed = [none, node.secret.newest.entries];
      this.#orders += 1;
      this.#failing += 1;
      this.#joins = true;
    } else {
      await node.run(3000);
      this.#order();
    }
  }

  /** The agent has seen the file as it is. */
  #notice(): void {
    const { node } = this;
    if (!node.isSeen) return;
    if (node.kill === 0) this.#oracle.isSeen = true;
    if (partsOf(node.config)) this.#oracle.isDamaged = false;
  }

  async #event(chance: number): Promise<void> {
    const { node } = this;
    const random = this.#random;
    const { kubelet } = node;
    if (chance < 0.1 && node.hosts) node.say(node.hosts.change(random));
    else if (chance < 0.28) await node.run(this.#oracle.change());
    else if (chance < 0.33) this.#oracle.damage();
    else if (chance < 0.48) await this.#rotate();
    else if (chance < 0.56) await this.#removeSome();
    else if (chance < 0.6 && node.order) {
      await this.#settle();
      this.#order();
    } else if (chance < 0.63) {
      node.order = undefined;
      node.say("the order is gone");
      const { content } = node.journal ?? {};
      const isFound = content?.revision === 0 && content.entries.length > 0;
      if (content === undefined || isFound) this.#mayJoin();
    } else if (chance < 0.73) {
      node.kill = random.once(2) ? 1 + random.below(40) : "commit";
      node.say(`a kill before ${node.kill}`);
    } else if (chance < 0.76) {
      if (random.once(2)) node.between = () => void this.#oracle.change(true);
    } else if (chance < 0.79) this.#reboot();
    else if (chance < 0.82) {
      this.#isTroubled = true;
      kubelet.brokenUntil = kubelet.now + random.pick([20_000, 200_000]);
      kubelet.start(false);
      this.#failing += 1;
      node.say("the kubelet is broken for a while, whatever the file");
    } else if (chance < 0.84) {
      node.isHijacked = !node.isHijacked;
      node.say(`another user has the healthz port: ${node.isHijacked}`);
    } else if (chance < 0.86) {
      kubelet.isWedged = true;
      node.say("the kubelet lives, but does not answer");
    } else if (chance < 0.88) {
      kubelet.startMs = random.pick(starts);
      node.refuses = random.below(6) === 0 && !isDeadly(node.secret.newest.entries);
      node.say(`a start takes ${kubelet.startMs} ms, refused ${node.refuses}`);
    } else if (chance < 0.9) await this.#fillDisk();
    else if (chance < 0.92) await this.#cutOff();
    else if (chance < 0.94 && node.hasFolder) await this.#lose();
    else if (chance < 0.97 && this.#isWithProvider) await this.#changeMode();
    else if (node.mode === "CredentialProvider") {
      node.ask();
      node.say("the kubelet asks the provider");
    } else await this.#settle();
  }

  async #rotate(): Promise<void> {
    const random = this.#random;
    const { node } = this;
    if (random.below(3) > 0) await this.#settle();
    const mayKill = node.mode === "Restart" && !node.refuses;
    this.#publish(mayKill && random.once(4) ? "deadly" : "apply");
    await this.#checkGone();
    if (!random.once(5)) this.#order();
  }

  async #removeSome(): Promise<void> {
    const { node } = this;
    this.#publish("fewer");
    if (node.secret.served) {
      node.secret = { ...node.secret, served: node.secret.newest };
      this.#oracle.allowed = [...this.#oracle.allowed, node.secret.newest.entries];
    }
    await this.#checkGone();
    if (this.#random.once(2)) return;
    await this.#settle();
    this.#order();
  }

  #reboot(): void {
    const { node } = this;
    const restarts = this.#random.pick([0, 4]);
    node.reboot(restarts);
    this.#missed += mostMissed;
    node.say(`reboot, with ${restarts} restarts by systemd`);
  }

  async #fillDisk(): Promise<void> {
    const { node } = this;
    node.isFull = true;
    node.say("the disk is full");
    await node.run(20_000);
    node.isFull = false;
    // The agent tries failed writes again at least every 30 s.
    await node.run(30_000);
    this.#oracle.isSeen = false;
    this.#failing += 1;
  }

  /** Neither systemd nor the API server answers. */
  async #cutOff(): Promise<void> {
    const { node } = this;
    const isSilent = this.#random.once(2);
    node.isWithoutSystemd = !isSilent;
    node.isSilent = isSilent;
    await node.run(20_000);
    this.#missed += mostMissed;
    node.isWithoutSystemd = false;
    node.isSilent = false;
  }

  async #lose(): Promise<void> {
    const { node } = this;
    const oracle = this.#oracle;
    const isRunning = this.#random.once(2) && node.isRunning;
    let what = this.#random.pick(["the folder", "the journal", "others' bytes"] as const);
    if (!isRunning) {
      await this.#settle();
      if (node.config === undefined || partsOf(node.config) === undefined) return;
      const { newest } = node.secret;
      if (!node.order) this.#mayJoin();
      // The original's entries count as theirs.
      const ours = (content: Entries) => new Map([...content].filter(([, word]) => isOurs(word)));
      oracle.allowed = [...oracle.allowed.map(ours), ...oracle.allowed];
      if (node.last && "result" in node.last && node.last.result === "Failed") {
        // The node no longer knows that its order failed. Only the report does.
        this.#failing += 1;
        oracle.allowed = [...oracle.allowed, newest.entries];
      }
      node.stopAgent();
      this.#orders += 1;
      // What an entry of the original hides is lost with the journal.
      if (what === "the journal" && oracle.hasOriginal) what = "the folder";
      oracle.forget(what === "the journal");
    }
    node.lose(what);
    node.say(`somebody damages or deletes ${what}, agent ${isRunning ? "running" : "stopped"}`);
    node.kill = 0;
    node.between = undefined;
    await node.round();
    await node.round();
  }

  /** A node without an order and without content of a revision takes what is served. */
  #mayJoin(): void {
    const { served, newest } = this.node.secret;
    if (!served) return;
    const taken = filtered(served.entries, newest.entries);
    this.#oracle.allowed = [...this.#oracle.allowed, taken];
    this.#joins = true;
    if (this.#isTroubled || isDeadly(taken)) this.#failing += 1;
  }

  async #changeMode(): Promise<void> {
    const { node } = this;
    await this.#settle();
    node.mode = this.#random.pick(modes);
    node.stopAgent();
    node.say(`mode ${node.mode}`);
    this.#publish("apply");
    await this.#checkGone();
    this.#order();
  }

  #publish(kind: Kind): void {
    const { node } = this;
    const { newest, former } = node.secret;
    const { entries, original } = this.#contentOf(kind);
    const left = new Map([...newest.entries].filter(([key]) => !newest.original.has(key)));
    const present = new Map([...entries].filter(([key]) => !original.has(key)));
    const isUnseen = this.#revision > 0 && node.seen.secret !== node.secret;
    this.#revision += 1;
    const isRelease = kind === "release";
    node.secret = {
      newest: { revision: this.#revision, entries, original, isRelease },
      served: isRelease ? undefined : node.secret.served,
      former: formerAfter(former, left, present),
    };
    for (const [key, word] of newest.entries) if (isOurs(word)) node.gone.set(word, imagesOf(key));
    for (const [word, images] of node.gone)
      if ([...entries.keys()].some((key) => imagesOf(key) === images)) node.gone.delete(word);
    // A node that has never seen the former content may still have what that content left out.
    const oracle = this.#oracle;
    if (isUnseen) oracle.allowed = [...oracle.before, ...oracle.allowed];
    oracle.before = oracle.allowed;
    oracle.allowed = oracle.allowed.map((content) => filtered(content, entries));
    node.say(`published ${this.#revision} ${kind}: ${[...entries].join(" ")}`);
  }

  #contentOf(kind: Kind): Readonly<{ entries: Entries; original: ReadonlySet<string> }> {
    const random = this.#random;
    const { newest } = this.node.secret;
    const entries = new Map<string, string>();
    const original = new Set<string>();
    if (kind === "release") return { entries, original };
    if (kind === "fewer") {
      for (const [key, word] of newest.entries)
        if (random.once(2)) {
          entries.set(key, word);
          if (newest.original.has(key)) original.add(key);
        }
      return { entries, original };
    }
    for (let count = 1 + random.below(3); count > 0; count -= 1) {
      const key = random.pick(registries);
      const word = newest.entries.get(key) ?? "";
      const isKept = /^o\d/.test(word) && random.once(3);
      entries.set(key, isKept ? word : this.#oracle.word(kind === "deadly" ? "oX" : "o"));
    }
    for (const [key, word] of auths(this.#oracle.file))
      if (word.startsWith("t") && random.once(3) && !serves(entries, key)) {
        entries.set(canonical(key), word);
        original.add(canonical(key));
      }
    return { entries, original };
  }

  #order(): void {
    const { node } = this;
    this.#orders += 1;
    this.#ask();
    const { entries } = node.secret.newest;
    if (this.#isTroubled || isDeadly(entries)) this.#failing += 1;
    this.#oracle.allowed = [...this.#oracle.allowed, entries];
  }

  #ask(): void {
    const { node } = this;
    const { revision } = node.secret.newest;
    this.#attempts += 1;
    const digest = orderedDigest(node.secret.newest);
    node.order = { revision, digest, attempt: this.#attempts };
    node.say(`ordered ${revision}`);
  }

  /**
   * Whatever the phase: what was removed is in no file some seconds later. If another program
   * restores it again and again, the agent repairs the file at most once a minute.
   */
  async #checkGone(): Promise<void> {
    const { node } = this;
    node.isFull = false;
    node.kill = 0;
    await node.run(6000);
    if (node.last?.code === "GPS225") await node.run(60_000);
    this.#notice();
    for (const word of node.gone.keys()) {
      const answered = [...node.answered.values()];
      law(!contains(node.config?.bytes ?? "", word), `the removed ${word} is still in config.json`);
      law(!answered.includes(word), `the removed ${word} is still in the answer`);
      law(!contains(node.folderText, word), `the removed ${word} is still in our folder`);
      const hosts = node.hosts?.text ?? "";
      law(!contains(hosts, word), `the removed ${word} is still in a hosts.toml`);
    }
  }

  #heal(): void {
    const { node } = this;
    Object.assign(node, { isFull: false, isWithoutSystemd: false, isSilent: false });
    Object.assign(node, { refuses: false, kill: 0, between: undefined });
    node.kubelet.brokenUntil = 0;
    if (!node.kubelet.isWedged) return;
    node.kubelet.isWedged = false;
    this.#missed += mostMissed;
    node.kubelet.start(false);
    node.say("somebody restarts the kubelet");
  }

  /** Everything is well again, and time passes: the node must be what the oracle wants. */
  async #settle(): Promise<void> {
    const { node } = this;
    this.#heal();
    await this.#await();
    this.#oracle.isSeen = true;
    this.#oracle.isDamaged = false;
    this.#checkOrder();
    if (this.#joins && this.#isTroubled) this.#oracle.allowed = [none, ...this.#oracle.allowed];
    this.#checkRestarts();
    this.#oracle.check();
    const isStray = node.mode !== "Runtime" && node.hosts?.hasOurs === true;
    law(!isStray, "a hosts.toml has lines of ours in another mode");
    this.#checkProved();
  }

  async #await(): Promise<void> {
    const { node } = this;
    for (let count = 0; count < 400; count += 1) {
      await node.run(count < 10 ? 5000 : 60_000);
      const { order, report } = node;
      // The controller asks again what the node has refused, or for what is newer. The refusal
      // touched nothing.
      if (report?.result === "Refused" && report.attempt === order?.attempt) {
        if (order.revision === this.#revision) this.#ask();
        else this.#order();
        continue;
      }
      const phase = node.journal?.phase ?? "resting";
      if (node.kubelet.state === "dead" && phase === "resting") node.kubelet.start(false);
      const { last } = node;
      const isIdle = last?.action === "nothing" || last?.action === "wait";
      const isRefused = last !== undefined && "result" in last && last.result === "Refused";
      const isDone = isIdle && !isRefused && last.again !== 500 && phase === "resting";
      if (isDone && count > 4 && node.kubelet.works) {
        await node.run(340_000);
        return;
      }
    }
    law(false, `never settles: ${node.last?.action} ${node.last?.code} ${node.last?.detail}`);
  }

  #checkOrder(): void {
    const { node } = this;
    const { order, secret, journal } = node;
    if (order?.revision !== this.#revision || secret.newest.isRelease) return;
    const hasFailed = node.report?.attempt === order.attempt && node.report.result === "Failed";
    const isExcused = isDeadly(secret.newest.entries) || this.#isTroubled;
    law(!hasFailed || isExcused, "good content has failed");
    const isInForce = journal?.content.revision === this.#revision;
    law(hasFailed || isInForce, `the ordered content is not in force: ${node.last?.code}`);
    const { allowed } = this.#oracle;
    this.#oracle.allowed = hasFailed
      ? allowed.filter((content) => content !== secret.newest.entries)
      : [secret.newest.entries];
  }

  #checkRestarts(): void {
    const { asks, revivals, deaths } = this.node.kubelet;
    const mostRevivals = this.#isTroubled ? Number.POSITIVE_INFINITY : this.#failing;
    const counts = `${asks} restarts and ${revivals} revivals for ${this.#orders} orders`;
    const isRight = asks <= this.#orders + 2 * this.#failing && revivals <= mostRevivals;
    law(isRight, `${counts}, ${this.#failing} of them failing`);
    const most = restartAttempts * this.#failing + this.#missed;
    law(deaths <= most, `${deaths} processes died with a failing content, should be ${most}`);
  }

  /** A proved content is what the kubelet's next pull uses. */
  #checkProved(): void {
    const { node } = this;
    const { last } = node;
    const isProved = last !== undefined && "result" in last && last.result === "Proved";
    const [content] = this.#oracle.allowed;
    if (!isProved || node.mode === "CredentialProvider" || this.#oracle.allowed.length !== 1)
      return;
    const pulled = node.pull();
    const hosts = node.mode === "Runtime" && node.hosts?.hasOurs ? node.hosts : undefined;
    const all = new Map([...auths(node.config), ...(content ?? none)]);
    hosts?.check(content ?? none, all);
    for (const [key, word] of content ?? none)
      if (hosts?.isHome(key, word, all))
        law(!serves(pulled, key), `proved, but the kubelet would send another ${key}`);
      else law(pulled.get(key) === word, `proved, but the kubelet would not use ${key}`);
  }
}

/** The spelling in which the controller publishes a registry. */
function canonical(key: string): string {
  return key.replace(/^https:\/\/(?!index\.docker)/, "");
}

/** The content without what newer content lacks. */
function filtered(content: Entries, newer: Entries): Entries {
  return new Map([...content].filter(([key]) => serves(newer, key)));
}

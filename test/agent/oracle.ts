/**
 * The oracle: config.json as if the product had never existed, and the contents of which one must
 * be over it. Other programs change the file of the node and the oracle's file alike. No code of
 * the product.
 */
import type { Random } from "#test/random.ts";
import {
  areSame,
  auths,
  bytesOf,
  edited,
  type Entries,
  imagesOf,
  isBad,
  isDeadly,
  isOurs,
  type NodeFile,
  none,
  noParts,
  partsOf,
  serves,
  textOf,
} from "./file.ts";
import { law } from "./laws.ts";
import type { Node } from "./node.ts";
import type { Mode } from "./process.ts";

const keys = [
  "a.io",
  "https://a.io",
  "a.io/team",
  "docker.io",
  "https://index.docker.io/v1/",
  "b.io:5000",
  "https://b.io:5000",
  "*.d.io",
];

type Change = (auths: Map<string, string>, rest: Map<string, string>) => void;

export class Oracle {
  file: NodeFile;
  /** The oracle knows every byte. */
  isExact = true;
  /** The contents of which one must be in force. */
  allowed: readonly Entries[] = [none];
  /** Contents of nodes that did not see a publication. */
  before: readonly Entries[] = [];
  /** The agent has seen the last change of other programs. */
  isSeen = true;
  /** The file on the node cannot be read, until the agent or another program repairs it. */
  isDamaged = false;
  #words = 0;
  readonly #backups: NonNullable<NodeFile>[] = [];
  readonly #random: Random;
  readonly #node: Node;

  constructor(random: Random, node: Node) {
    this.#random = random;
    this.#node = node;
  }

  word(prefix: string): string {
    this.#words += 1;
    return `${prefix}${this.#words}`;
  }

  /** The file of a node before the product: absent, with entries, or damaged. */
  begin(): void {
    const random = this.#random;
    const kind = random.below(5);
    if (kind === 0) return;
    for (let count = random.below(3); count >= 0; count -= 1)
      this.#edit((words) => words.set(random.pick(keys), this.word("t")));
    const bytes = this.file?.bytes ?? "";
    const damaged = random.pick(["", "{,", bytes.slice(0, -2)]);
    this.file =
      kind === 4 ? { bytes: damaged, mode: 0o600 } : { bytes, mode: random.pick([0o600, 0o644]) };
    this.#node.config = this.file;
  }

  #edit(change: Change): void {
    this.file = edited(this.file, this.#random.once(2), change);
  }

  #both(change: Change): void {
    const node = this.#node;
    node.config = edited(node.config, this.#random.once(2), change);
    this.#edit(change);
    this.isExact = false;
  }

  #onNode(change: Change): void {
    this.#node.config = edited(this.#node.config, this.#random.once(2), change);
  }

  /** The content that stops kubelets is tried on a file that nobody else changes. */
  get isProving(): boolean {
    const { journal, secret, config } = this.#node;
    const isTried = journal?.phase === "restarting" && auths(config).size > 0;
    return isTried && isDeadly(secret.newest.entries);
  }

  /**
   * Another program changes the file. `isMidway`: while the agent is writing it. Returns for how
   * many milliseconds nothing else happens.
   */
  change(isMidway = false): number {
    if (this.isDamaged || this.isProving) return 0;
    const random = this.#random;
    const kind = random.below(14);
    if (kind <= 2) this.#set(this.word("t"));
    else if (kind === 3) this.#set(this.word("!t"));
    else if (kind === 4) this.#deleteTheirs();
    else if (kind === 5) this.#deleteOurs();
    else if (kind === 6) this.#setTop();
    else if (kind === 7) this.#copyOurs();
    else if (kind === 8) this.#writeWhole();
    else if (kind === 9) this.#open();
    else if (kind > 10) this.#backup();
    this.isSeen = false;
    return kind === 10 && !isMidway ? this.#remove() : 0;
  }

  #set(word: string): void {
    const key = this.#random.pick(keys);
    this.#both((words) => words.set(key, word));
    this.#node.say(`others set ${key} ${word}`);
  }

  /** The entries of others that they can see in the file. */
  #visible(): (readonly [string, string])[] {
    return [...auths(this.#node.config)].filter(
      ([key, word]) => auths(this.file).get(key) === word,
    );
  }

  #ours(): (readonly [string, string])[] {
    return [...auths(this.#node.config)].filter(([, word]) => isOurs(word));
  }

  #deleteTheirs(): void {
    const visible = this.#visible();
    if (visible.length === 0 || !this.isSeen) return;
    const [key] = this.#random.pick(visible);
    this.#both((words) => words.delete(key));
    this.#node.say(`others delete their ${key}`);
  }

  #deleteOurs(): void {
    const ours = this.#ours();
    if (ours.length === 0) return;
    const [key] = this.#random.pick(ours);
    // The agent cannot know whether a value that it has not seen was deleted, or theirs under it.
    if (!this.isSeen && auths(this.file).has(key)) return;
    this.#onNode((words) => words.delete(key));
    this.#node.say(`others delete our ${key}`);
  }

  #setTop(): void {
    const word = this.word("r");
    this.#both((_, rest) => rest.set("psFormat", word));
    this.#node.say("others set a top-level key");
  }

  #copyOurs(): void {
    const ours = this.#ours();
    if (ours.length === 0 || !this.isSeen) return;
    const [key, word] = this.#random.pick(ours);
    const spellings = keys.filter((other) => imagesOf(other) === imagesOf(key));
    const copy = this.#random.pick([...spellings, key]);
    this.#onNode((words) => words.set(copy, word));
    this.#node.say(`others copy our ${key} to ${copy}`);
  }

  /** Configuration management writes the whole file, as it would be without us. */
  #writeWhole(): void {
    if ([...auths(this.file).values()].some(isOurs)) return;
    const before = partsOf(this.file) ?? noParts;
    const random = this.#random;
    this.file = edited(this.file, true, (words) => {
      if (!random.once(2) || words.size === 0) words.set(random.pick(keys), this.word("t"));
    });
    this.isExact = !areSame(partsOf(this.file) ?? noParts, before);
    this.#node.config = this.file;
    this.#node.say("others write the whole file");
  }

  #open(): void {
    const node = this.#node;
    if (node.config === undefined || this.file === undefined) return;
    node.config = { ...node.config, mode: 0o644 };
    this.file = { ...this.file, mode: 0o644 };
    node.say("chmod 644");
  }

  #remove(): number {
    const node = this.#node;
    if (node.config === undefined) return 0;
    node.config = undefined;
    this.file = undefined;
    this.isExact = true;
    node.say("others remove the file");
    node.between = undefined;
    node.kill = 0;
    return 4000;
  }

  #backup(): void {
    const node = this.#node;
    if (this.#random.once(2) && node.config !== undefined && partsOf(node.config)) {
      this.#backups.push(node.config);
      node.say("a backup");
      return;
    }
    // Without a journal, nobody can know whose the values of a backup are.
    if (this.#backups.length === 0 || !this.isSeen || node.journal === undefined) return;
    const backup = this.#random.pick(this.#backups);
    const [old, now] = [auths(backup), auths(node.config)];
    const visible = this.#visible().map(([key]) => key);
    // What cannot be known as ours is theirs. Where our old value comes back over theirs, theirs is
    // kept.
    const hadFile = this.file !== undefined;
    this.#edit((words, rest) => {
      for (const key of visible) if (!isOurs(old.get(key) ?? "")) words.delete(key);
      for (const [key, word] of old)
        if (!isOurs(word) && (now.get(key) !== word || visible.includes(key))) words.set(key, word);
      rest.clear();
      for (const [key, word] of partsOf(backup)?.rest ?? []) rest.set(key, word);
    });
    if (!hadFile) this.#dropEmpty();
    this.isExact = false;
    node.config = { bytes: backup.bytes, mode: node.config?.mode ?? 0o600 };
    node.say("others restore a backup");
  }

  /** An empty file and none are the same for a node that had none. */
  #dropEmpty(): void {
    const { auths: words, rest } = partsOf(this.file) ?? noParts;
    if (words.size + rest.size === 0) this.file = undefined;
  }

  /** Somebody leaves a file that no program can read. */
  damage(): void {
    const node = this.#node;
    const isReadable = node.config !== undefined && partsOf(node.config) !== undefined;
    if (!this.isSeen || this.isDamaged || this.isProving || !isReadable || !node.isSettled) return;
    const { bytes, mode } = node.config ?? { bytes: "", mode: 0o600 };
    const damaged = this.#random.pick([
      bytes.slice(0, -1),
      bytes.replace("{", "{,"),
      `\u{feff}${bytes}`,
      "",
      bytes.slice(0, bytes.length / 2),
    ]);
    node.config = { bytes: damaged, mode };
    this.isDamaged = (node.journal?.content.entries.length ?? 0) > 0;
    if (!this.isDamaged) {
      // Nothing of ours is in force: nobody repairs the file.
      this.file = node.config;
      this.isExact = true;
    }
    this.isSeen = false;
    node.say("somebody damages the file");
  }

  /**
   * An entry of the original is in force, or hides one of the others. It cannot be told from an
   * entry of the others.
   */
  get hasOriginal(): boolean {
    const before = auths(this.file);
    const others = [...auths(this.#node.config)].filter(([, word]) => !isOurs(word));
    const isHiding = (images: string) =>
      [...before.keys()].some(
        (key) => imagesOf(key) === images && !others.some(([other]) => other === key),
      );
    return others.some(([key, word]) => before.get(key) !== word || isHiding(imagesOf(key)));
  }

  /**
   * The folder was lost while no agent ran: what the journal knew about others is lost, too. If
   * only the journal was lost, their bytes are still there, but not their mode.
   */
  forget(isOnlyJournal: boolean): void {
    const { config, mode, answered, hosts } = this.#node;
    const others = [...auths(config)].filter(([, word]) => !isOurs(word));
    const isAnswering =
      (mode === "CredentialProvider" && answered.size > 0) || hosts?.hasOurs === true;
    const isOver = others.length < auths(config).size || isAnswering;
    if (isOnlyJournal && isOver && config !== undefined && this.file !== undefined) {
      this.file = { ...this.file, mode: config.mode };
      return;
    }
    this.isExact = false;
    const rest = partsOf(this.file)?.rest ?? none;
    const isNone = others.length + rest.size === 0 && others.length < auths(config).size;
    if (isNone) this.file = undefined;
    else
      this.file = {
        bytes: bytesOf({ auths: new Map(others), rest }, false),
        mode: config?.mode ?? 0o600,
      };
  }

  /** What must be in config.json with this content. */
  #expected(content: Entries, mode: Mode, isAsked: boolean): Entries {
    const kept = [...auths(this.file)].filter(
      ([key, word]) => !serves(content, key) && (!isBad(word) || content.size === 0),
    );
    const isAnswered = mode === "CredentialProvider" && isAsked;
    const { hosts } = this.#node;
    const isMoved = mode === "Runtime" && hosts?.hasOurs === true;
    const all = new Map([...kept, ...content]);
    const ours = [...content].filter(([key, word]) =>
      isMoved ? !hosts.isHome(key, word, all) : !isAnswered || !isOurs(word),
    );
    return new Map([...kept, ...ours]);
  }

  /** The law of the settled node: one of the allowed contents, over the file of the others. */
  check(): void {
    const { config, mode, isAsked } = this.#node;
    const expected = (content: Entries) => textOf(this.#expected(content, mode, isAsked));
    const is = textOf(auths(config));
    const fitting = this.allowed.filter((content) => expected(content) === is);
    const wanted = this.allowed.map(expected).join("\n     or ");
    law(fitting.length > 0, `the file is wrong\n   is   ${is}\n   want ${wanted}`);
    this.allowed = fitting;
    const [rest, expectedRest] = [config, this.file].map((file) => partsOf(file)?.rest ?? none);
    law(textOf(rest ?? none) === textOf(expectedRest ?? none), "others' top-level keys differ");
  }

  /** The law of the withdrawn node: nothing reminds of us. */
  checkWithdrawn(): void {
    const { config } = this.#node;
    const areEmpty = auths(this.file).size + auths(config).size === 0;
    law(
      areEmpty || (this.file === undefined) === (config === undefined),
      "the file exists, or not",
    );
    if (this.file && config) {
      const [is, must] = [config.mode.toString(8), this.file.mode.toString(8)];
      law(is === must, `mode ${is}, should be ${must}`);
    }
    const bytes = `is ${config?.bytes} should be ${this.file?.bytes}`;
    if (this.isExact) law(this.file?.bytes === config?.bytes, `bytes differ: ${bytes}`);
  }
}

/**
 * containerd's hosts.toml files on the node, and what they would be if the product had never
 * existed. Other programs change both alike. No code of the product.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Random } from "#test/random.ts";
import { contains, type Entries, imagesOf, isOurs } from "./file.ts";
import { law } from "./laws.ts";

const registries = ["a.io", "docker.io", "b.io:5000", "q.io"];
const taken = '[header]\nAuthorization = "Basic eDp5"\n';
const texts = [
  "",
  "# theirs\n",
  'server = "https://q.io"\n[host."https://a.io"]\ncapabilities = ["pull"]\n',
  '[host."https://b.io:5000"]\r\n',
  '[host."https://q.io"]',
  "[header]\nx = 'y'\n",
  taken,
  "[",
];

/** Texts that are not TOML, or in which a registry has another program's credential. */
const isClosed = (text: string) => text.startsWith("[\n") || text === "[" || text.startsWith(taken);

type Theirs = { bytes: string; mode: number } | undefined;

export class Hosts {
  readonly #root: string;
  readonly #theirs = new Map<string, Theirs>();
  #words = 0;

  /** `root`: the directory of the directories of registries. */
  constructor(root: string) {
    this.#root = root;
  }

  #path(registry: string): string {
    const [host = "", port] = registry.split(":");
    return join(this.#root, port === undefined ? host : `${host}_${port}_`, "hosts.toml");
  }

  /** All text in the files. */
  get text(): string {
    const names = readdirSync(this.#root, { recursive: true, withFileTypes: true });
    return names
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "latin1"))
      .join("\n");
  }

  get hasOurs(): boolean {
    return this.text.includes("# global-pull-secret: ");
  }

  /**
   * Whether containerd, and not config.json, must have an entry of ours of moved content. `all`:
   * what would be in config.json. The kubelet must have nothing else to send for these images.
   */
  isHome(key: string, word: string, all: Entries): boolean {
    const images = imagesOf(key);
    const isWhole = isOurs(word) && registries.includes(images);
    if (!isWhole || isClosed(this.#theirs.get(images)?.bytes ?? "")) return false;
    return ![...all].some(([other, otherWord]) => {
      const isSame = imagesOf(other) === images && !isOurs(otherWord);
      return isSame || imagesOf(other).startsWith(`${images}/`);
    });
  }

  /** Another program changes a file. Returns what it did. */
  change(random: Random): string {
    const registry = random.pick(registries);
    const path = this.#path(registry);
    const kind = random.below(4);
    if (kind === 0) {
      rmSync(join(path, ".."), { recursive: true, force: true });
      this.#theirs.delete(registry);
      return `others remove the hosts.toml of ${registry}`;
    }
    const before = this.#theirs.get(registry);
    if (kind === 1 && existsSync(path)) {
      const line = `\n# t${(this.#words += 1)}\n`;
      writeFileSync(path, line, { flag: "a" });
      const bytes = (before?.bytes ?? "") + line;
      this.#theirs.set(registry, { bytes, mode: before?.mode ?? 0o600 });
      return `others append to the hosts.toml of ${registry}`;
    }
    const theirs = { bytes: random.pick(texts), mode: random.pick([0o600, 0o644]) };
    rmSync(path, { force: true });
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, theirs.bytes, { mode: theirs.mode });
    this.#theirs.set(registry, theirs);
    return `others write the hosts.toml of ${registry}: ${JSON.stringify(theirs.bytes)}`;
  }

  /** The law of the settled node: containerd has the words of the entries that are at home here. */
  check(content: Entries, all: Entries): void {
    for (const [key, word] of content) {
      if (!this.isHome(key, word, all)) continue;
      const path = this.#path(imagesOf(key));
      const text = existsSync(path) ? readFileSync(path, "latin1") : "";
      const same = [...content].filter(([other]) => imagesOf(other) === imagesOf(key));
      const isThere = same.some(([, other]) => contains(text, other));
      law(isThere, `containerd does not have ${key} ${word}: ${text}`);
      law((statSync(path).mode & 0o077) === 0, "others can read our lines");
    }
  }

  /** The law of the withdrawn node: nothing reminds of us. */
  checkWithdrawn(): void {
    for (const registry of registries) {
      const path = this.#path(registry);
      const theirs = this.#theirs.get(registry);
      const is = existsSync(path) ? readFileSync(path, "latin1") : undefined;
      law(is === theirs?.bytes, `${registry}: is ${is} should be ${theirs?.bytes}`);
      if (theirs === undefined) law(!existsSync(join(path, "..")), `${registry} has a directory`);
      else law((statSync(path).mode & 0o777) === theirs.mode, `${registry} has another mode`);
    }
    law(!existsSync(join(this.#root, ".global-pull-secret")), "something stays staged");
  }
}

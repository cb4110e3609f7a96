/**
 * The only parser of JSON documents in this project: RFC 8259's grammar over a text. The tree keeps
 * what JSON.parse loses: duplicate keys, their order, how a number is written, the position of a
 * fault. Each view of a document is made from this tree: its values (values.ts), the kubelet's view
 * (kubelet.ts), and what an agent writes back (agent/delivery/config-json).
 */

/** An object as written: names and values side by side, duplicates included. */
export class JsonMembers {
  readonly names: string[] = [];
  readonly values: Tree[] = [];

  *members(): Generator<readonly [name: string, value: Tree]> {
    for (const [index, name] of this.names.entries()) yield [name, this.values[index] ?? null];
  }
}

/** A number that JavaScript would write differently: 1.0, 1e3, 12345678901234567890. */
export class Numeral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value as written. */
export type Tree = null | boolean | number | Numeral | string | Tree[] | JsonMembers;

const space = /[ \t\n\r]*/y;
/** Matches text up to a quote, a backslash or a control character. */
const simple = /[ !#-[\]-\uffff]*/y;
const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/**
 * Reads one JSON document, without recursion: a document nested a million levels deep costs memory,
 * but not the stack. Never throws for any text.
 */
export function readText(text: string, depth: number): Tree | Fault {
  try {
    return new Reader(text, depth).document();
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** The place where reading stopped, and why. */
export class Fault {
  readonly kind: "notJson" | "tooDeep";
  readonly at: number;

  constructor(kind: "notJson" | "tooDeep", at: number) {
    this.kind = kind;
    this.at = at;
  }
}

class Reader {
  readonly #text: string;
  readonly #depth: number;
  readonly #open: (Tree[] | JsonMembers)[] = [];
  #at = 0;

  constructor(text: string, depth: number) {
    this.#text = text;
    this.#depth = depth;
  }

  document(): Tree {
    for (;;) {
      let value = this.#value();
      // An opened, non-empty container: its first value comes next.
      if (value === undefined) continue;
      for (;;) {
        const parent = this.#open.at(-1);
        this.#skip(space);
        if (parent === undefined) {
          if (this.#at !== this.#text.length) this.#fail();
          return value;
        }
        (parent instanceof JsonMembers ? parent.values : parent).push(value);
        const next = this.#text[this.#at++];
        if (next === ",") {
          if (parent instanceof JsonMembers) this.#name(parent);
          break;
        }
        if (next !== (parent instanceof JsonMembers ? "}" : "]")) this.#fail(-1);
        value = parent;
        this.#open.pop();
      }
    }
  }

  /**
   * Reads a whole scalar or an empty container. Returns `undefined` if it opened a container with
   * content.
   */
  #value(): Tree | undefined {
    this.#skip(space);
    switch (this.#text[this.#at]) {
      case "{":
        return this.#container(new JsonMembers(), "}");
      case "[":
        return this.#container([], "]");
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return this.#number();
    }
  }

  #container(container: Tree[] | JsonMembers, end: string): Tree | undefined {
    this.#at++;
    if (this.#open.length >= this.#depth) throw new Fault("tooDeep", this.#at - 1);
    this.#skip(space);
    if (this.#text[this.#at] === end) {
      this.#at++;
      return container;
    }
    this.#open.push(container);
    if (container instanceof JsonMembers) this.#name(container);
    return undefined;
  }

  #name(members: JsonMembers): void {
    this.#skip(space);
    if (this.#text[this.#at] !== '"') this.#fail();
    members.names.push(this.#string());
    this.#skip(space);
    if (this.#text[this.#at++] !== ":") this.#fail(-1);
  }

  #string(): string {
    const start = this.#at++;
    let escaped = false;
    for (;;) {
      this.#skip(simple);
      const stop = this.#text[this.#at];
      if (stop === '"') break;
      if (stop !== "\\") this.#fail();
      escaped = true;
      this.#at += 2;
    }
    this.#at++;
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    try {
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    } catch {
      // We do not use JSON.parse's own message, because it quotes the text.
      throw new Fault("notJson", start);
    }
  }

  #word<T extends Tree>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
    return value;
  }

  #number(): number | Numeral {
    const start = this.#at;
    this.#skip(number);
    if (this.#at === start) this.#fail();
    const raw = this.#text.slice(start, this.#at);
    const value = Number(raw);
    return String(value) === raw ? value : new Numeral(raw);
  }

  /** Moves past what a sticky pattern matches; stays if it does not match. */
  #skip(pattern: RegExp): void {
    pattern.lastIndex = this.#at;
    if (pattern.test(this.#text)) this.#at = pattern.lastIndex;
  }

  #fail(offset = 0): never {
    throw new Fault("notJson", this.#at + offset);
  }
}

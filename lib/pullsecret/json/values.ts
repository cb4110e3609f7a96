/** The view of a document that programs use: plain values, if the document is not ambiguous. */
import { formatPath } from "../problems/keypath.ts";
import type { ProblemKind } from "../problems/problems.ts";
import { JsonMembers, Numeral, type Tree } from "./text.ts";

/** A JSON value whose numbers are of type N. */
export type Values<N> =
  | null
  | boolean
  | string
  | N
  | readonly Values<N>[]
  | { readonly [name: string]: Values<N> };

/** A mistake and its place: a key path, or a position if the path is not known yet. */
export type JsonFault = Readonly<{ kind: ProblemKind; path: string }>;

/**
 * `numeral` converts a number that JavaScript would write differently, or returns undefined to
 * refuse it.
 */
type Options<N> = Readonly<{ numeral: (numeral: Numeral) => N | undefined; depth: number }>;

/** 1 MiB can contain 170,000 faults. A longer list would not help a reader. */
const mostFaults = 20;

/**
 * Converts a tree to values, and lists its faults: everything that two JSON parsers could read
 * differently. If there are faults, do not use the values. Objects have no prototype. Recursion
 * ends at `depth` levels; a deeper level is a fault.
 */
export function valuesOf<N>(
  tree: Tree,
  options: Options<N>,
): Readonly<{ value: Values<N | number>; faults: readonly JsonFault[] }> {
  const view = new View(options);
  return { value: view.value(tree), faults: view.faults };
}

/** A number as a double; undefined if a double cannot hold it exactly. */
export function doubleOf({ text }: Numeral): number | undefined {
  const value = Number(text);
  const keeps = /[.eE]/.test(text) ? Number.isFinite(value) : Number.isSafeInteger(value);
  return keeps ? value : undefined;
}

class View<N> {
  readonly faults: JsonFault[] = [];
  readonly #options: Options<N>;
  /** The current path; formatted only for a fault. */
  readonly #steps: (string | number)[] = [];

  constructor(options: Options<N>) {
    this.#options = options;
  }

  value(tree: Tree): Values<N | number> {
    if (tree instanceof Numeral) return this.#options.numeral(tree) ?? this.#fault("number");
    if (typeof tree === "object" && tree !== null) {
      if (this.#steps.length >= this.#options.depth) return this.#fault("tooDeep");
      return tree instanceof JsonMembers
        ? this.#object(tree)
        : tree.map((item, index) => this.#below(index, item));
    }
    if (typeof tree === "string" && !tree.isWellFormed()) return this.#fault("loneSurrogate");
    return tree;
  }

  #object(tree: JsonMembers): { readonly [name: string]: Values<N | number> } {
    // We do not use Object.create(null). It makes a hash table, so a document of small objects
    // would take twice as much memory.
    const object = Object.setPrototypeOf({}, null) as Record<string, Values<N | number>>;
    for (const [name, value] of tree.members()) {
      if (name === "__proto__") this.#fault("forbiddenKey", name);
      else if (name in object) this.#fault("duplicate", name);
      else if (!name.isWellFormed()) this.#fault("loneSurrogate", name);
      else object[name] = this.#below(name, value);
    }
    return object;
  }

  #below(step: string | number, tree: Tree): Values<N | number> {
    this.#steps.push(step);
    const value = this.value(tree);
    this.#steps.pop();
    return value;
  }

  #fault(kind: ProblemKind, ...below: string[]): null {
    // A path of a hundred levels is not readable, so the message only shows where the nesting
    // begins.
    const steps = kind === "tooDeep" ? this.#steps.slice(0, 2) : [...this.#steps, ...below];
    if (this.faults.length < mostFaults) this.faults.push({ kind, path: formatPath(steps) });
    return null;
  }
}

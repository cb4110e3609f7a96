/** The shape of a catalogue of errors and messages. */

/**
 * Kind → code, meaning, what to do or what happens next. A code is never reused for another
 * meaning. `{}` stands for a detail, which is never a credential.
 */
export type Catalogue = Readonly<
  Record<string, readonly [code: string, what: string, then: string]>
>;

/** An entry with its details. */
export type Entry = Readonly<{ code: string; what: string; todo: string }>;

/**
 * The entry of this kind. The details replace its `{}` in order, first in `what`, then in `todo`. A
 * detail must not be a credential.
 */
export function entryOf<Kind extends string>(
  catalogue: Readonly<Record<Kind, Catalogue[string]>>,
  kind: Kind,
  ...details: readonly string[]
): Entry {
  const [code, what, todo] = catalogue[kind];
  const rest = [...details];
  const fill = (text: string): string => text.replaceAll("{}", () => rest.shift() ?? "");
  return { code, what: fill(what), todo: fill(todo) };
}

/** One line of at most 500 characters: `CODE: problem; action`. */
export const lineOf = ({ code, what, todo }: Entry): string =>
  `${code}: ${what}; ${todo}`.slice(0, 500);

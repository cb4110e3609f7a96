/** Catalogues of errors and messages. */

/**
 * Kind → code, meaning, what to do or what happens next. A code is never reused for another
 * meaning. `{}` stands for a detail, which is never a credential.
 */
export type Catalogue = Readonly<
  Record<string, readonly [code: string, what: string, then: string]>
>;

/** A problem of `source`. `path`: the place in the source. */
export type Problem = Readonly<{
  code: string;
  source: string;
  path: string;
  what: string;
  todo: string;
}>;

/**
 * The messages of one catalogue. Details replace each `{}` in order, first in the meaning, then in
 * the action. A detail must not be a credential.
 */
export function messagesOf<Kind extends string>(
  catalogue: Readonly<Record<Kind, Catalogue[string]>>,
) {
  function entry(kind: Kind, details: readonly string[]) {
    const [code, what, todo] = catalogue[kind];
    const rest = [...details];
    const fill = (text: string): string => text.replaceAll("{}", () => rest.shift() ?? "");
    return { code, what: fill(what), todo: fill(todo) };
  }
  return {
    codeOf: (kind: Kind): string => catalogue[kind][0],
    problem: (
      kind: Kind,
      source: string,
      path: string,
      ...details: readonly string[]
    ): Problem => ({ source, path, ...entry(kind, details) }),
    /** One line of at most 500 characters: `CODE: problem; action`. */
    sentence: (kind: Kind, detail = ""): string => {
      const { code, what, todo } = entry(kind, [escape(detail.slice(0, 300))]);
      return `${code}: ${what}; ${todo}`.slice(0, 500);
    },
  };
}

/** Escapes control, format and line-breaking characters, which could mislead a terminal. */
export const escape = (text: string): string =>
  text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);

/** The known word that a misspelt one means. */

/** The word with the fewest changed letters; undefined where more than every third would change. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const ranked = words.map((known) => ({ known, changes: distance(word, known) }));
  const [best] = ranked.toSorted((a, b) => a.changes - b.changes);
  return best !== undefined && best.changes * 3 <= word.length ? best.known : undefined;
}

/** Levenshtein's: letters to add, drop or replace, row by row of the usual table. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

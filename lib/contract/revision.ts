/** The number of a revision: what is written, and what is believed. */

/**
 * The highest number that counts, at a revision a second after 34,000 years. A higher one is some
 * damage: whoever believed it could publish nothing above it.
 */
export const mostRevision = 2 ** 40 - 1;

/** Whether it is the number of a revision; 0 is none. */
export function isRevision(number: unknown): number is number {
  return Number.isInteger(number) && Number(number) >= 0 && Number(number) <= mostRevision;
}

/** A revision as it is written; undefined for any other text. */
export function revisionOf(text: string): number | undefined {
  const number = /^\d{1,13}$/.test(text) ? Number(text) : undefined;
  return isRevision(number) ? number : undefined;
}

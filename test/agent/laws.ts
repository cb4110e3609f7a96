/** A law of the histories. */
export class Broken extends Error {}

export function law(holds: boolean, what: string): void {
  if (!holds) throw new Broken(what);
}

/** What an agent's code means, and what happens next or is to be done. */
import { catalogue } from "#contract/agent-codes.ts";

type Advice = Readonly<{ what: string; next: string }>;

/** The row of a code in the catalogue; undefined for a code that this version does not have. */
export function adviceOn(code: string): Advice | undefined {
  const row = Object.values(catalogue).find(([one]) => one === code);
  return row && { what: row[1], next: row[2] };
}

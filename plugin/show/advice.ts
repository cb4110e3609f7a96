/** The meaning of an agent's code, and the next step: what will happen or what to do. */
import { catalogue } from "#contract/agent-codes.ts";

type Advice = Readonly<{ what: string; next: string }>;

/** The row of a code in the catalogue; undefined if this version does not have the code. */
export function adviceOn(code: string): Advice | undefined {
  const row = Object.values(catalogue).find(([one]) => one === code);
  return row && { what: row[1], next: row[2] };
}

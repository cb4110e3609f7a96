/** What a code about a node means, and what happens next or is to be done. */
import { catalogue as ofAgents } from "#contract/agent-codes.ts";
import { catalogue as ofNodes } from "#contract/node-codes.ts";

type Advice = Readonly<{ what: string; next: string }>;

/** The row of a code in the catalogues; undefined for a code that this version does not have. */
export function adviceOn(code: string): Advice | undefined {
  const row = [...Object.values(ofAgents), ...Object.values(ofNodes)].find(([one]) => one === code);
  return row && { what: row[1], next: row[2] };
}

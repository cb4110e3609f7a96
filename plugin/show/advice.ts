/** Finds the meaning of a code about a node, and the next step. */
import { catalogue as ofAgents } from "#contract/agent-codes.ts";
import { catalogue as ofNodes } from "#contract/node-codes.ts";

type Advice = Readonly<{ what: string; next: string }>;
/** The entry of a code in the catalogues. Undefined if this version does not have the code. */
export function adviceOn(code: string): Advice | undefined {
  const row = [...Object.values(ofAgents), ...Object.values(ofNodes)].find(([one]) => one === code);
  return row && { what: row[1], next: row[2] };
}

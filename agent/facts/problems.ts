/** What an agent has to say, by kind and by code. The words are in lib/contract/. */
import { catalogue, type AgentCode } from "#contract/agent-codes.ts";
import type { Catalogue } from "#contract/catalogue.ts";

type Kind = keyof typeof catalogue;

export type Code = AgentCode;

/** Kind → code: decisions name what they found, people see its code. */
export const codes = Object.fromEntries(
  Object.entries(catalogue).map(([kind, [code]]) => [kind, code]),
) as { readonly [Each in Kind]: (typeof catalogue)[Each][0] };

const byCode = new Map<Code, Catalogue[string]>(
  Object.values(catalogue).map((entry) => [entry[0], entry]),
);

/**
 * One line: `GPS213 meaning (detail); what happens next`. The detail names files, units
 * and revisions; a credential never. Line breaks in it become spaces, and it is cut at 400
 * characters: the kubelet keeps 4 KiB of a termination message, an Event 1 KiB.
 */
export function say(code: Code, detail?: string): string {
  const [, what = "", next = ""] = byCode.get(code) ?? [];
  const shown = detail?.replaceAll(/\s+/g, " ").slice(0, 400);
  return shown ? `${code} ${what} (${shown}); ${next}` : `${code} ${what}; ${next}`;
}

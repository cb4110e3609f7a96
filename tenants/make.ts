/** The one write that brings what is made nearer to what is wanted. */
import { sentence } from "./rules/problems.ts";
import { replacement, stepOf, type Live } from "./rules/step.ts";
import type { Wanted } from "./rules/copies.ts";
import { Elsewhere, elsewhere, type Side } from "./side.ts";

export type Writing = "create" | "update" | "recreate";

/**
 * Takes the step. Throws Elsewhere where it is refused, and where the reply is not as wanted:
 * admission there changes it, and would do so at every further write.
 */
export async function make(
  { to, made, noun, propagation }: Side,
  step: Writing,
  live: Live | undefined,
  wanted: Wanted,
): Promise<void> {
  const path = `${made}/${wanted.metadata.name}`;
  if (step === "recreate")
    return await elsewhere(
      to.remove(path, live?.metadata.uid ?? "", live?.metadata.resourceVersion, propagation),
    );
  const reply = await (live === undefined
    ? elsewhere(to.create<Live>(made, wanted))
    : elsewhere(to.replace<Live>(path, replacement(live, wanted))));
  if (stepOf(reply, wanted, true) === "nothing") return;
  const found = { reason: "Refused", message: sentence("changed", noun) } as const;
  throw new Elsewhere(found, { left: reply.metadata });
}

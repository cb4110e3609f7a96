/**
 * Removes registries that the newest content does not have any more. A removed registry needs no
 * order and no restart, because a file that lacks an entry cannot hurt a kubelet. Pure.
 */
import type { FoundFile } from "../delivery/delivery.ts";
import type { Facts } from "../facts/facts.ts";
import { type Answer, codes, record, soon, wait } from "../facts/step.ts";
import { isIdle, type Journal } from "../journal/journal.ts";

/**
 * The next step of a removal; undefined if the newest content has all our registries, or if a
 * change is under way. The journal lists the entries until the files lack them, so an agent that is
 * killed in between continues.
 */
export function removal(
  { newest, writeIn }: Facts,
  journal: Journal | undefined,
  file: FoundFile,
): Answer | undefined {
  if (journal === undefined || !isIdle(journal) || newest === undefined) return undefined;
  // The kubelet reads nothing from an invalid file, and a repair replaces that file.
  if (newest.revision <= journal.revision || file.invalid !== undefined) return undefined;
  const plan = file.planRemoval(journal, (key) => !newest.has(key));
  if (plan === undefined) return undefined;
  if (!plan.changed) return record(codes.toBeWritten, { ...journal, owned: plan.owned });
  if (plan.excess !== undefined) return wait(codes.unsafe, soon, `it would have ${plan.excess}`);
  if (writeIn > 0) return wait(codes.toBeWritten, writeIn);
  return {
    action: "apply",
    code: codes.toBeWritten,
    again: 0,
    journal: { ...journal, owned: plan.meanwhile },
    former: { journal },
    plan,
    file,
  };
}

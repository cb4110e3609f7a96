/** config.json as it was found, with what would become of it: the pure half of the delivery. */
import type { FoundFile } from "../delivery.ts";
import type { Present } from "./file.ts";
import { healed, isUnexplained, plan, planRestore, previous, undone } from "./plan.ts";
import { rivalsIn } from "./rivals.ts";
import { holds, withdrawn } from "./threeway.ts";

export function foundOf(file: Present): FoundFile {
  const { kind, identity } = file;
  return {
    kind,
    identity,
    ...(file.kind === "file" ? { digest: file.digest, healed: file.healed } : { digest: "" }),
    // It takes the first file that parses (agent/facts/search.ts).
    passedOver: file.kind === "absent" || healed(file),
    now: previous(file),
    plan: (journal, document, lost) => plan(file, journal, document, lost),
    planRestore: (journal) => planRestore(file, journal),
    undone,
    holds: (owned) => holds(file.document, owned),
    withdrawn,
    rivals: (owned) => rivalsIn(file.document, owned),
    isUnexplained: (document) => isUnexplained(file, document),
  };
}

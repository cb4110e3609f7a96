/** Agents that break one rule of the design. The oracle must find each of them. */
import assert from "node:assert/strict";
import test from "node:test";
import { formerKey } from "#contract/names.ts";
import type { Seen } from "#agent/api/api.ts";
import { atOnce, codes, record, type Step } from "#agent/facts/step.ts";
import { Node } from "./node.ts";
import { Process } from "./process.ts";
import { firstFailure } from "./run.ts";

/** Writes the journal before config.json, instead of both in one commit. */
class JournalFirst extends Node {
  protected override makeProcess(): Process {
    return new (class extends Process {
      override async act(step: Step): Promise<void> {
        if (step.action === "commit")
          await super.act(record(codes.learned, step.commit.journal, step.commit.former));
        await super.act(step);
      }
    })(this);
  }
}

/** Does not know which credentials were ours. */
class NoMemory extends Node {
  #given: Seen["secret"] = "unknown";
  #kept: Seen["secret"] = "unknown";

  override get received(): Seen {
    const { secret, own } = super.received;
    if (secret !== this.#given && typeof secret === "object") {
      this.#given = secret;
      this.#kept = { ...secret, [formerKey]: "" };
    }
    return { secret: this.#kept, own };
  }
}

/** Takes a kubelet that starts slowly for one that has failed. */
class KillSlow extends Node {
  protected override makeProcess(): Process {
    return new (class extends Process {
      override async next(): Promise<Step> {
        const step = await super.next();
        const { journal } = this;
        if (step.code !== codes.kubeletSlow || journal?.phase !== "restarting") return step;
        const restart = { journal, former: journal, resetFirst: true, refused: undefined } as const;
        return atOnce({ action: "restart", code: step.code, unit: journal.unit, ...restart });
      }
    })(this);
  }
}

for (const [rule, Subject] of [
  ["replaces journal and config.json together", JournalFirst],
  ["recognises each credential that was ours", NoMemory],
  ["waits for a kubelet that starts", KillSlow],
] as const)
  test(`an oracle finds an agent that does not keep this rule within 300 histories: it ${rule}`, async () => {
    const failure = await firstFailure({ first: 1, count: 300, isWithProvider: false, Subject });
    assert.notEqual(failure, undefined);
  });

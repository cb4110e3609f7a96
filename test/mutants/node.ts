/** Breakages of an agent that only a real file system, process or bus shows. */
import type { Mutant } from "./mutant.ts";

const power = "test/faults/power.test.ts";
const writing = "agent/files/atomic-write.ts";

export const node: readonly Mutant[] = [
  {
    effect: "a power cut leaves a config.json without its bytes",
    file: writing,
    text: "    await sync(staged);\n",
    instead: "",
    tests: [power],
  },
  {
    effect: "a power cut brings the old config.json back after its restart was proved",
    file: writing,
    text: "  }\n  await sync(dirname(target));\n}\n\nfunction verify",
    instead: "  }\n}\n\nfunction verify",
    tests: [power],
  },
  {
    effect: "a file is written before the journal says what it replaces",
    file: "agent/execute.ts",
    text: "      await keep(step.journal, hands);\n      await write(step.plan, step.found, hands);\n",
    instead:
      "      await write(step.plan, step.found, hands);\n      await keep(step.journal, hands);\n",
    tests: [power],
  },
  {
    effect: "an agent that crashes leaves credentials in its core",
    file: "program/cores.ts",
    text: 'writeFileSync("/proc/self/coredump_filter", "0");',
    instead: 'writeFileSync("/proc/self/coredump_filter", "33");',
    tests: ["test/faults/leak.test.ts"],
  },
  {
    effect: "a kubelet that somebody stopped is started again some seconds later",
    file: "agent/restart/phases.ts",
    text: "  if (!facts.healthy) return wait(codes.kubeletSilent, soon);",
    instead: `  if (!facts.healthy) {
    const all = globalThis as { looks?: number };
    all.looks = (all.looks ?? 0) + 1;
    const { journal } = facts;
    if (journal.kind !== "journal" || all.looks < 4) return wait(codes.kubeletSilent, soon);
    const owed = unitOf(facts)?.invocation ?? "";
    return record(codes.restartOwed, { ...journal.journal, phase: "restarting", owed });
  }`,
    tests: ["test/faults/meanwhile.test.ts"],
  },
];

/** Breakages of what an agent does on its node. */
import type { Mutant } from "./mutant.ts";

const restarts = "agent/restart/restart.test.ts";
const decisions = "agent/decide/decide.test.ts";
const model = "agent/model.test.ts";
const provider = "agent/delivery/provider/provider.test.ts";
const plans = "agent/delivery/config-json/plan.test.ts";

export const agent: readonly Mutant[] = [
  {
    breaks: "H15",
    effect: "an agent applies whatever revision is mounted",
    file: "agent/facts/revision.ts",
    text: "return one.revision === revision && one.digest === digest;",
    instead: "return true;",
    tests: [decisions],
  },
  {
    breaks: "H15",
    effect: "a number that came back with another content is taken for the agent's own",
    file: "agent/facts/revision.ts",
    text: "return one.revision === revision && one.digest === digest;",
    instead: "return one.revision === revision;",
    tests: [decisions, "agent/decide/hold.test.ts"],
  },
  {
    breaks: "H16",
    effect: "an entry of somebody else that stands in the way is not remembered",
    file: "agent/delivery/config-json/threeway.ts",
    text: "return own(key, value, mine, displaced);",
    instead: "return own(key, value, mine, []);",
    tests: [plans, "agent/delivery/config-json/document.test.ts"],
  },
  {
    effect: "config.json loses an entry before the kubelet was seen to ask the provider for it",
    file: "agent/delivery/provider/share.ts",
    text: "if (asked || mine?.vacant)",
    instead: "if (asked !== mine?.vacant)",
    tests: [provider],
  },
  {
    effect: "a journal forgets the answer before it is emptied, which a kill then leaves",
    file: "agent/delivery/provider/found.ts",
    text: "const meanwhile = { ...planned.meanwhile, answer };",
    instead: "const { meanwhile } = planned;",
    tests: [provider],
  },
  {
    breaks: "H17",
    effect: "a file is written, and the kubelet never restarted",
    file: "agent/restart/phases.ts",
    text: "journal.matters || journal.owed !== undefined\n      ? rule(",
    instead: "false\n      ? rule(",
    tests: [decisions, "agent/restart/phases.test.ts"],
  },
  {
    breaks: "H18",
    effect: "a kubelet gets its old file back after two attempts",
    file: "agent/restart/restart.ts",
    text: "? 1 : 3;",
    instead: "? 1 : 2;",
    tests: [restarts],
  },
  {
    breaks: "H18",
    effect: "a kubelet gets its old file back after four attempts",
    file: "agent/restart/restart.ts",
    text: "? 1 : 3;",
    instead: "? 1 : 4;",
    tests: [restarts],
  },
  {
    breaks: "H18",
    effect: "after three failures the kubelet is revived with the file that it failed with",
    file: "agent/restart/restart.ts",
    text: 'const phase = journal.undo === undefined ? "reviving" : "restoring";',
    instead: 'const phase = "reviving";',
    tests: [restarts],
  },
  {
    breaks: "H19",
    effect: "a kubelet is restarted for a file from which it learns nothing",
    file: "agent/restart/phases.ts",
    text: "journal.matters || journal.owed !== undefined\n      ? rule(",
    instead: "true\n      ? rule(",
    tests: [decisions, "agent/restart/phases.test.ts", model],
  },
  {
    breaks: "H20",
    effect: "a withdrawal leaves what ours displaced out of the file",
    file: "agent/delivery/config-json/threeway.ts",
    text: "for (const { key, raw } of one.displaced) auths.set(key, valueOf(raw));",
    instead: "",
    tests: [plans],
  },
  {
    breaks: "H20",
    effect: "a withdrawal that breaks a kubelet puts the withdrawn credential back",
    file: "agent/decide/change.ts",
    text: "if (drift || givesBack(document)) return undefined;",
    instead: "if (drift) return undefined;",
    tests: [decisions, model],
  },
  {
    effect: "an agent is Ready as soon as its kubelet answers",
    file: "agent/restart/restart.ts",
    text: "const early = hasLived(facts, probation - guard - untilProbed);",
    instead: "const early = true;",
    tests: [restarts],
  },
  {
    effect: "an attempt that comes too soon uses up the unit's start limit",
    file: "agent/restart/restart.ts",
    text: "return Math.max(0, unrecorded, elapsed < 0 ? 0 : spacing - elapsed);",
    instead: "return 0;",
    tests: [restarts],
  },
  {
    effect: "a content that broke the kubelet is tried again at once",
    file: "agent/restart/quarantine.ts",
    text: "const lasts = Math.min(longest, first * 2 ** Math.min(failures - 1, 10));",
    instead: "const lasts = 0;",
    tests: ["agent/restart/quarantine.test.ts", decisions],
  },
  {
    effect: "a node whose kubelet does not answer is taken for fit",
    file: "agent/decide/preflight.ts",
    text: "if (!facts.healthy) return refuse(codes.kubeletSilent, soon, `127.0.0.1:${config.healthzPort}`);",
    instead: "",
    tests: ["agent/decide/preflight.test.ts"],
  },
  {
    effect: "a node in force begins what the halt is to keep from it",
    file: "agent/decide/hold.ts",
    text: 'if (document.intent !== "hold" || journal === undefined) return false;',
    instead: "return false;",
    tests: ["agent/decide/hold.test.ts"],
  },
  {
    effect: "two agents on one node write the same file",
    file: "agent/decide/decide.ts",
    text: "if (!facts.alone) return wait(codes.otherAgent, soon);",
    instead: "",
    tests: [decisions],
  },
  {
    effect: "a file that another program changed meanwhile is replaced",
    file: "agent/files/atomic-write.ts",
    text: "    expect(target, expected);\n    renameSync",
    instead: "    renameSync",
    tests: ["agent/files/atomic-write.test.ts"],
  },
];

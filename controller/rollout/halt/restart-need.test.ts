import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RevisionContent, Intent } from "#contract/names.ts";
import type { DeliveryPolicy } from "#controller/policy/delivery.ts";
import {
  registeredAfter,
  registeredBy,
  registersKubelets,
  restartsKubelets,
  type Base,
} from "./restart-need.ts";

const auth = (word: string) => Buffer.from(`user:${word}`, "latin1").toString("base64");

/** Registry → credential, by who supplies it. */
type Entries = Readonly<Record<string, string>>;

function content(
  additional: Entries,
  original: Entries = {},
  intent: Intent = "apply",
): RevisionContent {
  const all = Object.entries({ ...original, ...additional }).toSorted(([one], [other]) =>
    one < other ? -1 : 1,
  );
  const auths = Object.fromEntries(all.map(([registry, word]) => [registry, { auth: auth(word) }]));
  const sources = Object.fromEntries(
    all.map(([registry]) => [registry, registry in additional ? "additional" : "original"]),
  );
  return { document: JSON.stringify({ auths }), sources: JSON.stringify(sources), intent };
}

const provider = (registration: "Agent" | "Preinstalled", scope: "All" | "Annotated" = "All") =>
  ({ mode: "CredentialProvider", registration, scope }) as const;
const [restart, reread] = [{ mode: "Restart" }, { mode: "Reread" }] as const;
const agent = provider("Agent");

const before = content({ "quay.io": "1" }, { "ghcr.io": "1" });
const had = (delivery: DeliveryPolicy): Base => ({ ...before, registered: registeredBy(delivery) });
const rotated = content({ "quay.io": "2" }, { "ghcr.io": "1" });

const table: readonly (readonly [
  sentence: string,
  delivery: DeliveryPolicy,
  base: Base | undefined,
  next: RevisionContent | undefined,
  restarts: boolean,
])[] = [
  ["Restart: a rotation", restart, had(restart), rotated, true],
  ["Reread: the first one", reread, undefined, rotated, false],
  ["Preinstalled: the first one", provider("Preinstalled"), undefined, rotated, false],
  ["Agent: the first one registers", agent, undefined, rotated, true],
  ["Agent: nothing is published", agent, had(agent), undefined, true],
  ["Agent: the mode was another", agent, had(restart), rotated, true],
  ["Agent: the nodes were prepared", agent, had(provider("Preinstalled")), rotated, true],
  ["Agent: the scope was another", agent, had(provider("Agent", "Annotated")), rotated, true],
  ["Agent: a rotation of the additional", agent, had(agent), rotated, false],
  ["Agent: the same once more", agent, had(agent), before, false],
  [
    "Agent: a rotation of the original",
    agent,
    had(agent),
    content({ "quay.io": "1" }, { "ghcr.io": "2" }),
    true,
  ],
  [
    "Agent: a registry more, whose own entry may be displaced",
    agent,
    had(agent),
    content({ "quay.io": "1", "a.io": "1" }, { "ghcr.io": "1" }),
    true,
  ],
  ["Agent: a registry less", agent, had(agent), content({}, { "ghcr.io": "1" }), true],
  [
    "Agent: a registry that another source takes over",
    agent,
    had(agent),
    content({ "quay.io": "1", "ghcr.io": "1" }),
    true,
  ],
  [
    "Agent: a rotation of bytes that JSON cannot carry",
    agent,
    { ...content({ "a.io": "\xff1" }), registered: registeredBy(agent) },
    content({ "a.io": "\xff2" }),
    true,
  ],
  ["Agent: a withdrawal", agent, had(agent), { ...before, intent: "release" }, true],
  ["Agent: a hold", agent, had(agent), { ...before, intent: "hold" }, false],
  ["Agent: rubbish", agent, had(agent), { ...before, document: "{" }, true],
];
for (const [sentence, delivery, base, next, restarts] of table)
  test(`${sentence}: ${restarts ? "by the budget" : "spared"}`, () =>
    assert.equal(restartsKubelets(delivery, base, next), restarts));

type Step =
  | Readonly<{ what: "publish"; next: RevisionContent }>
  | Readonly<{ what: "mode"; delivery: DeliveryPolicy }>
  | Readonly<{ what: "node"; at: number }>
  | Readonly<{ what: "all" }>;

const entries = fc.dictionary(fc.constantFrom("a.io", "b.io", "c.io"), fc.constantFrom("1", "2"), {
  maxKeys: 3,
});
const intents = fc.constantFrom<Intent[]>("apply", "apply", "apply", "release", "hold");
const deliveries = fc.constantFrom<DeliveryPolicy[]>(
  restart,
  reread,
  agent,
  agent,
  provider("Agent", "Annotated"),
  provider("Preinstalled"),
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.tuple(entries, entries, intents).map(([more, original, intent]): Step => ({
      what: "publish",
      next: content(more, original, intent),
    })),
    deliveries.map((delivery): Step => ({ what: "mode", delivery })),
    fc.nat(2).map((at): Step => ({ what: "node", at })),
    fc.constant<Step>({ what: "all" }),
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

/** What a kubelet must have been started with, told without the code under test. */
function startedWith(
  delivery: DeliveryPolicy,
  { document, sources, intent }: RevisionContent,
): string {
  const suppliers = JSON.parse(sources) as Entries;
  const { auths } = JSON.parse(document) as { auths: Record<string, object> };
  const lasting = Object.keys(auths).map((one) =>
    suppliers[one] === "original" ? JSON.stringify([one, auths[one]]) : one,
  );
  return JSON.stringify([delivery, intent, lasting]);
}

test("law: whatever is published, in whichever mode, and wherever waves stop, what is spared of the budget restarts the kubelet of no node that has been reached", () => {
  fc.assert(
    fc.property(steps, (schedule) => {
      let delivery: DeliveryPolicy = agent;
      let published = content({});
      let base: Base | undefined;
      const nodes: (string | undefined)[] = [undefined, undefined, undefined];
      // As the controller does on each run, before it writes anything else.
      const remember = () => {
        base &&= { ...base, registered: registeredAfter(delivery, base, published) };
      };
      const reach = (at: number) => {
        if (published.intent !== "hold" || nodes[at] === undefined)
          nodes[at] = startedWith(delivery, { ...published, intent: "apply" });
        if (published.intent === "release") nodes[at] = undefined;
      };
      for (const step of schedule) {
        if (step.what === "publish") published = step.next;
        if (step.what === "mode") ({ delivery } = step);
        if (step.what === "all") {
          for (const at of nodes.keys()) reach(at);
          if (published.intent === "apply")
            base = { ...published, registered: registeredBy(delivery) };
          if (published.intent === "release") base = undefined;
        }
        remember();
        if (step.what === "node") reach(step.at);
        const registers =
          delivery.mode === "CredentialProvider" && delivery.registration === "Agent";
        if (!registers || published.intent === "hold") continue;
        if (restartsKubelets(delivery, base, published)) continue;
        const wanted = startedWith(delivery, published);
        assert.deepEqual(nodes, [wanted, wanted, wanted]);
      }
    }),
    { numRuns: 3000, endOnFailure: true },
  );
});

const telling: readonly (readonly [
  string,
  DeliveryPolicy,
  Base | undefined,
  RevisionContent,
  boolean,
])[] = [
  ["the first revision", agent, undefined, before, true],
  ["another mode before", agent, had(restart), before, true],
  ["a rotation", agent, had(agent), rotated, false],
  ["nodes that were prepared", provider("Preinstalled"), undefined, before, false],
  ["mode Restart", restart, undefined, before, false],
  ["a withdrawal", agent, undefined, content({}, {}, "release"), false],
  ["a halt", agent, undefined, content({}, {}, "hold"), false],
];
for (const [what, delivery, base, next, registers] of telling)
  test(`kubelets ${registers ? "may have to be" : "are not"} told of a provider: ${what}`, () =>
    assert.equal(registersKubelets(delivery, base, next), registers));

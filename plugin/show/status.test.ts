import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeliverySpec, GlobalPullSecret } from "#api/global-pull-secret.ts";
import {
  halted,
  inForce,
  object,
  rolling,
  source,
  conditionsOf,
  whole,
} from "../object.fixture.ts";
import { paintFor } from "../terminal/paint.ts";
import { statusLines } from "./status.ts";

const plain = paintFor(false);
const now = Date.parse("2026-11-23T09:05:00Z");
const screen = { paint: plain, now };

const headlines: readonly (readonly [what: string, GlobalPullSecret, line: string])[] = [
  [
    "no controller has reported",
    object({}),
    "Unknown: the controller has not reported yet; check that it runs",
  ],
  [
    "all nodes have the revision",
    object({ status: { conditions: inForce } }),
    "Ready: revision 7 is on every node",
  ],
  [
    "a rollout is in progress",
    object({ status: { conditions: rolling } }),
    "Reconciling: 60 of 100 nodes have revision 8",
  ],
  ["halted", object({ status: { conditions: halted } }), "Stalled: revision 8 failed on n7"],
  [
    "the controller has not read the spec yet",
    object({ generation: 4, status: { observedGeneration: 3, conditions: halted } }),
    "Reconciling: generation 4 of spec is not read yet",
  ],
  [
    "the object is paused, and a withdrawal waits",
    object({
      spec: { managementState: "Paused" },
      status: {
        conditions: conditionsOf("person", "Paused", "paused: a withdrawal waits for …"),
      },
    }),
    "Paused: a withdrawal waits for …",
  ],
  [
    "the object is paused, and the rollout is halted",
    object({ spec: { managementState: "Paused" }, status: { conditions: halted } }),
    "Paused, Stalled: revision 8 failed on n7",
  ],
  [
    "withdrawn",
    object({
      spec: { managementState: "Withdrawn" },
      status: {
        conditions: conditionsOf("nobody", "Withdrawn", "withdrawn: nothing of ours is left"),
      },
    }),
    "Withdrawn: nothing of ours is left",
  ],
  [
    "a withdrawal waits for unreachable nodes",
    object({
      spec: { managementState: "Withdrawn" },
      status: { conditions: conditionsOf("nobody", "NodesAwaited", "others are waited for") },
    }),
    "Withdrawn, Ready: others are waited for",
  ],
];
for (const [what, reported, line] of headlines)
  test(`prints the first line for: ${what}`, () =>
    assert.equal(statusLines(reported, screen)[0], line));

test("prints a line for each fact that the object reports, with what to do", () => {
  const lines = statusLines(whole, screen);
  assert.equal(
    lines.join("\n"),
    `Reconciling: 60 of 100 nodes have revision 8
Revision  7 in force, 8 is being rolled out
          6 halted (NodesFailed) 5m ago
          to try again now: kubectl pull-secret retry
Nodes     97/100 with the present revision; waiting: 1 Failed, 1 Unfit, 1 Unreachable
          left out: n7, n8
Nodes that need help
  n7  GPS206 /host/kubelet is a link (5m ago)
    nothing changes; make config.json a regular file, and pull-secret-provider a directory that root can read
  n9  GPS334 the node's kubelet does not answer (5m ago)
    on the node, see systemctl status kubelet, journalctl -u kubelet, and the agent's log with crictl
  and 1 more
Sources
  additional-pull-secret  accepted  not on every node yet
  team-a                  refused   GPS101 team-a: document: not JSON; correct it
  team-b                  missing   there is no Secret team-b
Registries
  quay.io       additional-pull-secret  before original
  ghcr.io/acme  original
  and 5 more`,
  );
});

test("prints no line for unknown values", () => {
  const reported = object({ status: { conditions: inForce, sources: [source("812")] } });
  assert.deepEqual(statusLines(reported, screen), [
    "Ready: revision 7 is on every node",
    "Revision  none in force",
    "Sources",
    "  additional-pull-secret  accepted  on the nodes",
  ]);
});

const modes: readonly (readonly [DeliverySpec, string | undefined])[] = [
  [{}, undefined],
  [{ mode: "Restart" }, undefined],
  [{ mode: "Reread" }, "Delivery  Reread"],
  [{ mode: "CredentialProvider" }, "Delivery  CredentialProvider"],
  [
    { mode: "CredentialProvider", credentialProvider: { scope: "Annotated" } },
    "Delivery  CredentialProvider (Annotated)",
  ],
];
for (const [delivery, line] of modes)
  test(`prints ${line ?? "no line"} for delivery ${JSON.stringify(delivery)}`, () => {
    const lines = statusLines(object({ spec: { delivery } }), screen);
    assert.equal(
      lines.find((candidate) => candidate.startsWith("Delivery")),
      line,
    );
  });

test("shows the state of each source", () => {
  const rows = [
    ["WithdrawalAwaited", "False", "deleted   why"],
    ["Verifying", "Unknown", "being verified  why"],
    ["Other", "Unknown", "unknown   why"],
    ["Accepted", "True", "accepted  not on every node yet"],
  ] as const;
  for (const [reason, accepted, shown] of rows) {
    const sources = [{ ...source("8", "7"), reason, accepted, message: "why" }];
    const lines = statusLines(object({ status: { sources } }), screen);
    assert.equal(
      lines.at(-1)?.replaceAll(/ +/g, " "),
      ` additional-pull-secret ${shown.replaceAll(/ +/g, " ")}`,
    );
  }
});

for (const [waiting, text] of [
  [undefined, ""],
  [[], ""],
  [[{ reason: "AtWork", nodes: 1 }], "; waiting: 1 AtWork"],
] as const)
  test(`prints ${text === "" ? "nothing" : `"${text}"`} for the waiting nodes ${JSON.stringify(waiting)}`, () => {
    const { nodes: { waiting: _, ...nodes } = assert.fail("no nodes"), ...status } =
      whole.status ?? {};
    const reported = object({
      status: { ...status, nodes: { ...nodes, ...(waiting && { waiting }) } },
    });
    assert.deepEqual(
      statusLines(reported, screen).filter((line) => line.startsWith("Nodes   ")),
      [`Nodes     97/100 with the present revision${text}`],
    );
  });

test("counts the nodes that need help but are not listed", () => {
  const { nodes, ...status } = whole.status ?? {};
  assert.ok(nodes);
  const reported = object({ status: { ...status, nodes: { ...nodes, failed: 11 } } });
  assert.ok(statusLines(reported, screen).includes("  and 11 more"));
});

test("shows when a registry's credential expires, in red if less than an hour is left", () => {
  const paint = { ...plain, bad: (text: string) => `<${text}>` };
  const of = (expires: string) => {
    const registries = [{ registry: "quay.io", source: "additional-pull-secret", expires }];
    return statusLines(object({ status: { registries } }), { ...screen, paint }).join("\n");
  };
  assert.match(of("2026-11-24T09:05:00Z"), / expires in 24h$/m);
  assert.match(of("2026-11-23T09:35:00Z"), /<expires in 30m>/);
  assert.match(of("2026-11-23T09:00:00Z"), /<expired 5m ago>/);
});

test("shows in red a registry that denies its credential, and why", () => {
  const paint = { ...plain, bad: (text: string) => `<${text}>` };
  const condition = {
    type: "CredentialsVerified",
    status: "False",
    reason: "CredentialsDenied",
    message: "GPS341 why",
    lastTransitionTime: "2026-11-23T09:00:00Z",
  } as const;
  const registry = { registry: "quay.io", source: "team-a", verified: "Denied" } as const;
  const status = { registries: [registry], conditions: [condition] };
  const text = statusLines(object({ status }), { ...screen, paint }).join("\n");
  assert.match(text, /quay\.io +team-a +<denied by the registry>/);
  assert.match(text, /<  GPS341 why>/);
});

/**
 * The pages of docs/ that say what the code says, written from it: `node build/run.mjs build/docs.ts`. A test holds the
 * files against it, so that they cannot drift.
 */
import { writeFileSync } from "node:fs";
import { catalogue as agent } from "../agent/problems.ts";
import { usage } from "../controller/config.ts";
import { catalogue as controller } from "../controller/problems.ts";
import { catalogue as documents } from "../pullsecret/problems.ts";
import { faults } from "./faults.ts";

type Row = readonly [code: string, what: string, next: string];

/** File → its whole text. */
export function pages(): Readonly<Record<string, string>> {
  return { "docs/errors.md": errors(), "docs/configuration.md": configuration(), "docs/faults.md": faults() };
}

function errors(): string {
  const parts = [
    "# Every code\n\nThe same code stands in the Event, the log line, the readiness answer and the termination message. `{}` stands for a detail; a credential is never one.",
    "## Pull secrets\n\nSaid by the controller (Events on `additional-pull-secret`) and by `kubectl pull-secret`. Codes below 150 refuse the whole source, because one bad entry makes the kubelet drop the whole file; the others are warnings.",
    table(["code", "what is the case", "what to do"], Object.values(documents).toSorted(byCode)),
    "## Agents\n\nSaid by the agent of a node: in its log, on `http://127.0.0.1:20248/readyz` of the node, and as its pod's termination message.",
    table(
      ["code", "what is the case", "what happens next"],
      Object.entries(agent).map(([code, { what, next }]): Row => [code, what, next]),
    ),
    "## Controller\n\nSaid by the controller, in Events and in its log.",
    table(["code", "what is the case", "what to do"], Object.values(controller).toSorted(byCode)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function configuration(): string {
  return `# Configuration

There is nothing to configure on nodes: the controller's flags are all there is. Set them as \`args\` of its container, in a kustomization:

\`\`\`yaml
resources: [./manifests]
patches:
  - target: { kind: Deployment, name: global-pull-secret-controller }
    patch: |-
      - { op: add, path: /spec/template/spec/containers/0/args/-, value: --max-unavailable=25% }
\`\`\`

\`\`\`
${usage().trimEnd()}
\`\`\`

A wrong value stops the controller at its start with one line that names the flag, the value and what to give instead.

## The original pull secret

Without \`--original\` each node's own \`config.json\` is the original: what it holds stays, and an additional entry for the same registry
displaces it until it is withdrawn. With \`--original NAMESPACE/NAME\` the controller merges that Secret with the additional one, so that its
rotation reaches the nodes too. It needs the right to read that Secret: \`manifests/original\` is a kustomize component that brings flag
and right for \`kube-system/pull-secret\`; copy it for another name.

## Conflicts and protection

Both have an entry for the same registry: the additional's is used, or the original's with \`--conflicts original\`; a warning says so.
An additional entry that the kubelet tries *before* one of the original's (\`quay.io/team\` before \`quay.io\`) takes those images over; that is
allowed, with a warning. \`--protect quay.io\` refuses every additional entry that would serve images of that registry.

## How fast, how careful

\`--max-unavailable\` is how many nodes may restart their kubelet at a time; the first node of a revision is always alone, unless it is \`100%\`.
\`--min-ready-seconds\` is the trial: how long a restarted kubelet must stay well before the next node follows. Of a kubelet that dies more
than 4 s before its end no other node ever hears ([why](decisions/0006-when-an-agent-is-ready.md)). \`--restart Never\` restarts nothing: the kubelet reads its file again within five minutes.
`;
}

function byCode(a: Row, b: Row): number {
  return a[0].localeCompare(b[0]);
}

function table(head: Row, rows: readonly Row[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

if (import.meta.main) for (const [file, text] of Object.entries(pages())) writeFileSync(file, text);

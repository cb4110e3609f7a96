/** docs/errors.md: every code of every catalogue. */
import { catalogue as agent } from "#contract/agent-codes.ts";
import { catalogue as controller } from "#controller/sources/read/problems.ts";
import { catalogue as fleet } from "#fleet/secret/problems.ts";
import { catalogue as kubeconfigs } from "#kube/kubeconfig/problems.ts";
import { catalogue as documents } from "#pullsecret/problems/problems.ts";
import { catalogue as sync } from "#sync/rules/problems.ts";
import { table, type Row } from "./markdown.ts";

/** Of every program, and of what they read. */
export const catalogues: readonly Readonly<Record<string, readonly [string, string, string]>>[] = [
  documents,
  agent,
  controller,
  kubeconfigs,
  fleet,
  sync,
];

/** The page of every code, a section for each catalogue. */
export function errorsPage(): string {
  const parts = [
    "# Every code\n\nThe same code stands in the Event, the log line, the readiness answer and the termination message. `{}` stands for a detail; a credential is never one.",
    "## Pull secrets\n\nSaid by the controller (Events on `additional-pull-secret`) and by `kubectl pull-secret`. Codes below 150 refuse the whole source, because one bad entry makes the kubelet drop the whole file; the others are warnings.",
    table(["code", "meaning", "what to do"], Object.values(documents).toSorted(byCode)),
    "## Agents\n\nSaid by the agent of a node: in its log, on `http://127.0.0.1:20248/readyz` of the node (HTTP status 5nn for GPS2nn while it is not ready, which is what the kubelet's Unhealthy Event tells), and as its pod's termination message.",
    table(["code", "meaning", "what happens next"], Object.values(agent).toSorted(byCode)),
    "## Controller\n\nSaid by the controller, in Events and in its log.",
    table(["code", "meaning", "what to do"], Object.values(controller).toSorted(byCode)),
    "## Kubeconfigs\n\nSaid of a kubeconfig that is read as data (that of a guest cluster): what is refused is never connected to.",
    table(["code", "meaning", "what to do"], Object.values(kubeconfigs).toSorted(byCode)),
    "## Fleet\n\nSaid in the status of a FleetSecret.",
    table(["code", "meaning", "what to do"], Object.values(fleet).toSorted(byCode)),
    "## SyncSecrets\n\nSaid in the status of a SyncSecret, and in the log of the program that found it.",
    table(["code", "meaning", "what to do"], Object.values(sync).toSorted(byCode)),
  ];
  return `${parts.join("\n\n")}\n`;
}

function byCode(a: Row, b: Row): number {
  return (a[0] ?? "").localeCompare(b[0] ?? "");
}

/**
 * The messages of an agent, each with its own code. The same line appears in the agent's log and in
 * the status of the node's NodePullSecret. docs/ explains each code.
 */
import type { Catalogue } from "./catalogue.ts";

/** Kind → code, meaning, what happens next (or what to do, if a person must act). */
export const catalogue = {
  inForce: ["GPS200", "the revision is in force", "the file is watched, and repaired if it drifts"],
  fit: [
    "GPS201",
    "the node supports the delivery mode, and no content is ordered yet",
    "waits for an order",
  ],
  incomplete: ["GPS202", "global-pull-secret is not complete", "waits for the whole Secret"],
  otherRevision: [
    "GPS203",
    "global-pull-secret does not have the ordered content",
    "waits for that content, or for a newer order",
  ],
  secretRefused: [
    "GPS204",
    "global-pull-secret is refused",
    "nothing changes until the Secret is corrected",
  ],
  otherAgent: [
    "GPS205",
    "another agent works on this node",
    "touches nothing until the other agent has ended",
  ],
  unsafe: [
    "GPS206",
    "config.json, the provider's answer or a hosts.toml cannot be replaced safely",
    "nothing changes until you repair it by hand",
  ],
  unreadable: [
    "GPS207",
    "config.json is missing or cannot be read",
    "acted on if it stays like this for 2 s, in case another program is still writing it",
  ],
  fileFailed: ["GPS208", "a file operation failed", "tried again, at most every 30 s"],
  changedMeanwhile: ["GPS209", "config.json changed while it was being replaced", "looks again"],
  systemdUnknown: [
    "GPS210",
    "systemd does not answer",
    "nothing changes; asked again, at most every 30 s",
  ],
  noUnit: [
    "GPS211",
    "the kubelet's systemd unit does not exist",
    "nothing changes; check --kubelet-unit",
  ],
  restartOwed: [
    "GPS212",
    "config.json is written, the kubelet restart is pending",
    "the kubelet is restarted",
  ],
  restarting: [
    "GPS213",
    "the kubelet is restarting",
    "waits for a new process that answers healthz",
  ],
  kubeletFailed: [
    "GPS214",
    "the restarted kubelet failed",
    "started again, by systemd, or a start limit interval after the last start",
  ],
  onProbation: ["GPS215", "the new kubelet answers", "watched until the probation ends"],
  notBack: [
    "GPS216",
    "three attempts to restart the kubelet failed",
    "the former content is restored",
  ],
  restored: ["GPS217", "the former content is restored", "the kubelet is started"],
  rolledBack: [
    "GPS218",
    "rolled back: the kubelet failed with this revision and runs again with the former content",
    "not tried again for the same order; correct the Secret, or ask for a retry",
  ],
  stillDown: [
    "GPS220",
    "the kubelet is still down with the former content",
    "started again, in growing pauses",
  ],
  kubeletSilent: [
    "GPS221",
    "the kubelet's healthz does not answer",
    "no change starts until it does; check --healthz-port and --healthz-address",
  ],
  otherJournal: [
    "GPS222",
    "the journal was written by another version of the agent",
    "nothing changes; deploy that version again, or withdraw with it first",
  ],
  journalUnreadable: [
    "GPS223",
    "the journal is unreadable, so it is unknown what is ours",
    "removed; entries with our credentials count as ours",
  ],
  withdrawn: [
    "GPS224",
    "withdrawn: config.json is as the other programs left it",
    "our folder is removed",
  ],
  drifted: ["GPS225", "our entries were changed by another program", "they are restored"],
  toBeWritten: ["GPS226", "the node's files are about to be written", "staged, read back, renamed"],
  stopped: ["GPS227", "stopped", "the next agent continues from the journal"],
  unforeseen: ["GPS228", "an unexpected error", "tried again, at most every 30 s"],
  unitUnfound: [
    "GPS229",
    "cannot identify the kubelet's systemd unit: none of the known units is active, or several are",
    "nothing changes; searched again, or name the unit with --kubelet-unit",
  ],
  unitNotRunning: [
    "GPS230",
    "the systemd unit that would be restarted is not running",
    "nothing changes until it runs; if it is not the kubelet's unit, name the right one with --kubelet-unit",
  ],
  systemdTooOld: [
    "GPS231",
    "systemd is older than version 235",
    "nothing changes; update systemd, or set spec.delivery.mode Reread so that no restart is needed",
  ],
  providerUnfit: [
    "GPS235",
    "the kubelet's credential provider is missing or not installed correctly",
    "nothing changes; install flags, script and configuration (page Prepare nodes for a credential provider)",
  ],
  runtimeUnfit: [
    "GPS236",
    "containerd does not use the directory in which the agent could write hosts.toml",
    "nothing changes; set config_path and restart containerd (page Let containerd use the credential)",
  ],
  unwatched: ["GPS242", "the node does not allow watching files", "checks them every 30 s"],
  toBeReread: [
    "GPS254",
    "config.json is written; the kubelet reads it within five minutes, without a restart",
    "reported as proved once the kubelet must have read it",
  ],
  restartRefused: [
    "GPS259",
    "systemd refuses to restart the kubelet",
    "a kubelet that runs rereads config.json by itself; allow root to restart the unit, or set spec.delivery.mode Reread",
  ],
  journalVanished: [
    "GPS260",
    "the journal disappeared while the agent ran",
    "written again from memory",
  ],
  elsewhere: [
    "GPS261",
    "the mounted directory is not the kubelet's",
    "nothing changes; withdraw first, then give the kubelet's --root-dir as --kubelet-directory",
  ],
  noSystemd: [
    "GPS262",
    "this node has no systemd that can restart its kubelet",
    "nothing changes; set spec.delivery.mode Reread, or leave the node out with --agent-node-selector",
  ],
  apiSilent: [
    "GPS263",
    "the API server does not answer",
    "the node keeps what it has; asked again, at least every 10 s, unless the API server requests a longer pause",
  ],
  apiUnauthorized: [
    "GPS264",
    "the API server does not accept the agent's token",
    "the node keeps what it has; asked again with the kubelet's newest token; if it stays, delete the agent's pod",
  ],
  apiForbidden: [
    "GPS265",
    "the agent's account lacks a right",
    "the node keeps what it has; asked again; the controller writes the agents' Role, so check that the controller runs",
  ],
  objectless: [
    "GPS266",
    "the node has no NodePullSecret",
    "the agent reports once the controller has created the object; check that the controller runs",
  ],
  leaseNotRenewed: [
    "GPS267",
    "the restarted kubelet has not renewed its Lease",
    "reported as proved once it has; if it does not, check that the kubelet reaches the API server",
  ],
  learned: [
    "GPS268",
    "another program changed its own part of config.json",
    "the change is kept, also after a withdrawal",
  ],
  unreadableKept: [
    "GPS269",
    "config.json cannot be read; its bytes are kept in our folder",
    "the last readable entries of all programs are put back; compare them with the kept bytes",
  ],
  foundOurs: [
    "GPS270",
    "config.json, the provider's answer or hosts.toml has credentials of ours, but there is no journal",
    "they count as ours, so a removal removes them",
  ],
  kubeletSlow: [
    "GPS271",
    "the kubelet has been starting for more than four minutes",
    "it is alive, so the agent waits for it and does not restart it",
  ],
  healthzForeign: [
    "GPS272",
    "a process of another user has the kubelet's healthz port, so no answer counts",
    "no change starts unless the kubelet renews the node's Lease; end that process",
  ],
} as const satisfies Catalogue;

export type AgentCode = (typeof catalogue)[keyof typeof catalogue][0];

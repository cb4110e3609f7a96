/**
 * The messages of an agent, each with its own code. The same line appears in the agent's log and in
 * the status of the node's NodePullSecret. docs/ explains each code.
 */
import type { Catalogue } from "./catalogue.ts";

/** Kind → code, meaning, what happens next, and after `; ` what to do, if a person must act. */
export const catalogue = {
  inForce: ["GPS200", "the revision is in force", "the agent repairs the file if it drifts"],
  fit: [
    "GPS201",
    "the node supports the delivery mode, and no content is ordered yet",
    "the agent waits for an order",
  ],
  incomplete: [
    "GPS202",
    "global-pull-secret is not complete",
    "the agent waits for the whole Secret; if this lasts, read the controller's log and the Events of the agent's pod",
  ],
  otherRevision: [
    "GPS203",
    "global-pull-secret does not have the ordered content",
    "the agent waits for that content, or for a newer order; if this lasts, look for GPS263 in the agent's log",
  ],
  secretRefused: [
    "GPS204",
    "global-pull-secret is refused",
    "nothing changes; do not edit it, because the controller writes it again; if this lasts, read the controller's log",
  ],
  otherAgent: [
    "GPS205",
    "another agent works on this node",
    "the agent touches nothing until the other agent has ended; if this lasts, find it with kubectl get pods -n kube-system -o wide",
  ],
  unsafe: [
    "GPS206",
    "config.json, the provider's answer or a hosts.toml cannot be replaced safely",
    "nothing changes; make config.json a regular file, and pull-secret-provider a directory that root can read",
  ],
  unreadable: [
    "GPS207",
    "config.json is missing or cannot be read",
    "after 2 s, a missing file counts as deleted by its owner, and an unreadable file leads to GPS269; if this lasts, find the program that writes it",
  ],
  fileFailed: [
    "GPS208",
    "a file operation failed",
    "the agent tries again, at most every 30 s; if this lasts, check whether the node's disk is full or read-only, or config.json is a separate mount",
  ],
  changedMeanwhile: [
    "GPS209",
    "config.json changed while it was being replaced",
    "the agent reads the file again",
  ],
  systemdUnknown: [
    "GPS210",
    "systemd does not answer",
    "nothing changes; if this lasts, check systemd on the node, or set spec.delivery.mode Reread if the node has none",
  ],
  noUnit: [
    "GPS211",
    "the kubelet's systemd unit does not exist",
    "nothing changes; set --kubelet-unit to the kubelet's unit",
  ],
  restartOwed: [
    "GPS212",
    "config.json is written, the kubelet restart is pending",
    "the agent restarts the kubelet",
  ],
  restarting: [
    "GPS213",
    "the kubelet is restarting",
    "the agent waits for a new process that answers healthz",
  ],
  kubeletFailed: [
    "GPS214",
    "the restarted kubelet failed",
    "systemd starts it again, or the agent does after the unit's start limit interval",
  ],
  onProbation: [
    "GPS215",
    "the new kubelet answers",
    "the agent watches it until the probation ends",
  ],
  notBack: [
    "GPS216",
    "three attempts to restart the kubelet failed",
    "the agent restores the former content",
  ],
  restored: ["GPS217", "the former content is restored", "the agent starts the kubelet"],
  rolledBack: [
    "GPS218",
    "rolled back: the kubelet failed with this revision and runs again with the former content",
    "not tried again for the same order; correct the Secret, or ask for a retry",
  ],
  stillDown: [
    "GPS220",
    "the kubelet is still down with the former content",
    "the agent starts it again, in pauses that grow to 15 minutes; read journalctl -u kubelet: the new credential is not the cause",
  ],
  kubeletSilent: [
    "GPS221",
    "the kubelet's healthz does not answer",
    "no change starts until it does, or, if no process has the port, until the kubelet renews the node's Lease; check the kubelet, --healthz-port and --healthz-address",
  ],
  otherJournal: [
    "GPS222",
    "the journal was written by another version of the agent",
    "nothing changes; deploy that version again, withdraw, then change the version",
  ],
  journalUnreadable: [
    "GPS223",
    "the journal is unreadable, so it is unknown what is ours",
    "the agent removes it, and entries with our credentials count as ours; check the node's disk",
  ],
  withdrawn: [
    "GPS224",
    "withdrawn: config.json is as the other programs left it",
    "our folder is removed",
  ],
  drifted: [
    "GPS225",
    "our entries were changed by another program",
    "the agent restores them without a kubelet restart; if this lasts, find the program that changes config.json",
  ],
  toBeWritten: [
    "GPS226",
    "the node's files are about to be written",
    "the agent stages, reads back and renames them",
  ],
  stopped: ["GPS227", "stopped", "the next agent continues from the journal"],
  unforeseen: [
    "GPS228",
    "an unexpected error",
    "the agent tries again, at most every 30 s; if this lasts, report it as a bug",
  ],
  unitUnfound: [
    "GPS229",
    "cannot identify the kubelet's systemd unit: none of the known units is active, or several are",
    "nothing changes; set --kubelet-unit, or spec.delivery.mode Reread, which needs no unit",
  ],
  unitNotRunning: [
    "GPS230",
    "the systemd unit that would be restarted is not running",
    "nothing changes; start it, or set --kubelet-unit if the kubelet has another unit",
  ],
  systemdTooOld: [
    "GPS231",
    "systemd is older than version 235",
    "nothing changes; update systemd, or set spec.delivery.mode Reread",
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
  unwatched: [
    "GPS242",
    "the node does not allow watching files",
    "the agent checks them every 30 s",
  ],
  toBeReread: [
    "GPS254",
    "config.json is written; the kubelet reads it within five minutes, without a restart",
    "the agent reports Proved after that",
  ],
  restartRefused: [
    "GPS259",
    "systemd refuses to restart the kubelet",
    "a running kubelet rereads config.json within five minutes, and a dead one gets three requests; allow root to restart the unit (SELinux, RefuseManualStop), or set spec.delivery.mode Reread",
  ],
  journalVanished: [
    "GPS260",
    "the journal disappeared while the agent ran",
    "the agent writes it again from memory; if this lasts, find the program that deletes files below the kubelet's directory",
  ],
  elsewhere: [
    "GPS261",
    "the mounted directory is not the kubelet's",
    "nothing changes; withdraw if any node has our credentials, then set --kubelet-directory to the kubelet's --root-dir",
  ],
  noSystemd: [
    "GPS262",
    "this node has no systemd that can restart its kubelet",
    "nothing changes; set spec.delivery.mode Reread, or leave the node out with --agent-node-selector",
  ],
  apiSilent: [
    "GPS263",
    "the API server does not answer",
    "the node keeps what it has, a new node takes the served content, and the agent reports later; if this lasts, check the API server's address in the agent's log, network policies and kube-proxy",
  ],
  apiUnauthorized: [
    "GPS264",
    "the API server does not accept the agent's token",
    "the agent asks again with the newest token that the kubelet has mounted; if this lasts, delete the agent's pod",
  ],
  apiForbidden: [
    "GPS265",
    "the agent's account lacks a right",
    "the agent asks again, because an API server that has just started may refuse; if this lasts, check that the controller runs, because it writes the agents' Role",
  ],
  objectless: [
    "GPS266",
    "the node has no NodePullSecret",
    "the agent reports once the controller has created it; if this lasts, check that the controller runs",
  ],
  leaseNotRenewed: [
    "GPS267",
    "the restarted kubelet has not renewed its Lease",
    "the agent waits with its report; if this lasts, read journalctl -u kubelet: the kubelet does not reach the API server",
  ],
  learned: [
    "GPS268",
    "another program changed its own part of config.json",
    "the agent keeps the change, also after a withdrawal",
  ],
  unreadableKept: [
    "GPS269",
    "config.json cannot be read; its bytes are kept in our folder",
    "the last readable entries of all programs are put back; compare config.json with the kept bytes, and add what is missing",
  ],
  foundOurs: [
    "GPS270",
    "config.json, the provider's answer or hosts.toml has credentials of ours, but there is no journal",
    "they count as ours, so a removal removes them; if the node needs one for itself, add it again under another user or token",
  ],
  kubeletSlow: [
    "GPS271",
    "the kubelet has been starting for more than four minutes",
    "the agent waits, and does not restart a living process; read journalctl -u with the name of the kubelet's unit",
  ],
  healthzForeign: [
    "GPS272",
    "a process of another user has the kubelet's healthz port, so no answer counts",
    "no change starts unless the kubelet renews the node's Lease, and a restarted kubelet has to run for four minutes; find the process with ss -ltnp, and end it",
  ],
} as const satisfies Catalogue;

export type AgentCode = (typeof catalogue)[keyof typeof catalogue][0];

/**
 * Everything that an agent has to say to people, one code each. The same line appears in its log,
 * in the readiness body and in the termination message, and its code in docs/.
 */
import type { Catalogue } from "./catalogue.ts";

/** Kind → code, meaning, what happens next (or what to do, where help is needed). */
export const catalogue = {
  inForce: [
    "GPS200",
    "the revision is in force",
    "the file is watched, and put right if it drifts",
  ],
  fit: ["GPS201", "the node is fit, and nothing is to be applied yet", "waits for a grant"],
  incomplete: ["GPS202", "the mounted Secret is not complete", "waits for the kubelet to mount it"],
  otherRevision: [
    "GPS203",
    "the mounted Secret holds another revision",
    "waits for its own (up to 90 s)",
  ],
  secretRefused: [
    "GPS204",
    "the mounted Secret is refused",
    "nothing is changed until it is corrected",
  ],
  otherAgent: [
    "GPS205",
    "another agent works on this node",
    "touches nothing until that one has ended",
  ],
  unsafe: [
    "GPS206",
    "config.json cannot be replaced safely",
    "nothing is changed until it is put right by hand",
  ],
  unreadable: [
    "GPS207",
    "the kubelet can read nothing from config.json",
    "it is replaced if it stays so for 2 s, in case another program is still writing it",
  ],
  fileFailed: ["GPS208", "a file operation failed", "tried again, at most every 30 s"],
  changedMeanwhile: ["GPS209", "config.json changed while it was being replaced", "looks again"],
  systemdUnknown: [
    "GPS210",
    "systemd could not be asked",
    "nothing is changed; asked again, at most every 30 s",
  ],
  noUnit: [
    "GPS211",
    "there is no such unit to restart",
    "nothing is changed; check --kubelet-unit",
  ],
  restartOwed: [
    "GPS212",
    "config.json is written, the restart is owed",
    "the kubelet is restarted",
  ],
  restarting: [
    "GPS213",
    "the kubelet's restart is under way",
    "waits for a new process that answers healthz",
  ],
  kubeletFailed: [
    "GPS214",
    "the restarted kubelet failed",
    "restarted again after the unit's start limit has passed",
  ],
  onProbation: ["GPS215", "the new kubelet answers", "watched for the probation"],
  notBack: ["GPS216", "the kubelet did not come back", "the previous config.json is put back"],
  restored: ["GPS217", "the previous config.json is back", "the kubelet is restarted with it"],
  rolledBack: [
    "GPS218",
    "rolled back: the kubelet failed with this revision and runs again with the previous config.json",
    "not tried again under the same grant, or before the time named; correct the Secret, or ask for a retry",
  ],
  quarantined: [
    "GPS219",
    "quarantined: the kubelet failed with this revision on this node",
    "tried again under a new grant, or at the time named; correct the Secret, or ask for a retry",
  ],
  stillDown: ["GPS220", "the kubelet is still down with the previous config.json", "retrying"],
  kubeletSilent: [
    "GPS221",
    "the kubelet's healthz does not answer",
    "nothing is begun until it does; check --healthz-port and --healthz-address, and that the kubelet's healthzPort is not 0",
  ],
  newerJournal: [
    "GPS222",
    "the journal was written by a newer agent",
    "nothing is changed; deploy that version again",
  ],
  journalUnreadable: [
    "GPS223",
    "the journal is unreadable; what the node had before is no longer known",
    "kept as journal.json.corrupt; entries that equal ours are taken for ours",
  ],
  withdrawn: ["GPS224", "withdrawn: the node is as it was before", "nothing is left to do"],
  drifted: ["GPS225", "our entries were changed by another program", "they are put back"],
  toBeWritten: ["GPS226", "the node's files are to be written", "staged, read back, renamed"],
  stopped: ["GPS227", "stopped", "the next agent goes on from the journal"],
  unforeseen: ["GPS228", "an unforeseen error", "tried again, at most every 30 s"],
  unitUnfound: [
    "GPS229",
    "the kubelet's unit is not found: not exactly one that may be it is active",
    "nothing is changed; looked for again, or name it with --kubelet-unit",
  ],
  unitNotRunning: [
    "GPS230",
    "the unit that is to be restarted is not running",
    "nothing is changed until it runs; if it is not the kubelet's, name that one with --kubelet-unit",
  ],
  systemdTooOld: [
    "GPS231",
    "systemd is older than version 235",
    "nothing is changed; update it, or let the kubelet read its file again by itself with spec.delivery.mode Reread",
  ],
  hidesFile: [
    "GPS232",
    "config.json would hide another file that the kubelet takes credentials from",
    "nothing is changed; move its entries to config.json in the kubelet's directory, or give --hidden-files Ignore",
  ],
  hidesUnknown: [
    "GPS233",
    "it is not known whether config.json would hide another file that the kubelet takes credentials from",
    "nothing is changed; look yourself, then write {} to config.json in the kubelet's directory, or give --hidden-files Ignore",
  ],
  providerUnfit: [
    "GPS235",
    "the kubelet's credential provider is not there, or not as it has to be",
    "nothing is changed; install flags, script and configuration as docs/delivery-node.md says",
  ],
  portTaken: [
    "GPS240",
    "the probe port is taken by another program, so that nobody can ask whether the node is ready",
    "all else is done; the port is tried again, at most every 10 s; --probe-port names another",
  ],
  unwatched: [
    "GPS242",
    "the node does not let us watch files",
    "looks at them whenever the kubelet probes the agent",
  ],
  unsearched: [
    "GPS243",
    "nobody looks for files that config.json would hide, because a node of the cluster cannot mount its root directory safely",
    "all else is done; look yourself, or update the container runtimes",
  ],
  withdrawnInDoubt: [
    "GPS250",
    "withdrawn, but the journal was lost: config.json may still hold entries of ours that are no longer known",
    "waits for a person: take out what is to go, then delete global-pull-secret/journal.json.corrupt beside it",
  ],
  keptDrifted: [
    "GPS252",
    "the node keeps what it has, and our entries were changed by another program",
    "they are put back by the next revision",
  ],
  readableByOthers: [
    "GPS253",
    "others than its owner could read config.json",
    "only its owner can as long as our entries are in it; then it gets its mode back",
  ],
  toBeReread: [
    "GPS254",
    "config.json is written; the kubelet reads it again within five minutes, by itself",
    "ready when it must have done so",
  ],
  behind: [
    "GPS256",
    "the node has a higher revision than it is granted",
    "keeps what it has; the controller publishes the content again",
  ],
  refusedGrant: [
    "GPS257",
    "the node has refused this grant",
    "nothing is changed before a new grant",
  ],
  unseen: [
    "GPS258",
    "a new grant is in force, and the kubelet has not seen the node unready for it",
    "ready after the kubelet's next probe",
  ],
  restartRefused: [
    "GPS259",
    "systemd refuses to restart the kubelet",
    "after three refusals the previous config.json is put back; allow root the restart of the unit, or set spec.delivery.mode Reread",
  ],
  journalVanished: [
    "GPS260",
    "the journal disappeared while the agent ran",
    "it is written again from memory",
  ],
  elsewhere: [
    "GPS261",
    "the mounted directory is not the kubelet's",
    "nothing is changed; give the kubelet's --root-dir as --kubelet-directory",
  ],
  noSystemd: [
    "GPS262",
    "this node has no systemd that could restart its kubelet",
    "nothing is changed; set spec.delivery.mode Reread, or leave the node out with --agent-node-selector",
  ],
} as const satisfies Catalogue;

/**
 * HTTP status of an agent that is not ready, 5nn for GPS2nn: of the answer to its probe a kubelet
 * puts nothing but the status into its Unhealthy Event, where people without a way to the node read
 * it.
 */
export function statusOf(code: AgentCode): number {
  return 500 + Number(code.slice("GPS2".length));
}

export type AgentCode = (typeof catalogue)[keyof typeof catalogue][0];

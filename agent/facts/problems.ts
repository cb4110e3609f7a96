/**
 * Everything that the agent has to say to people, one code each. The same line appears in the log,
 * in the readiness body and in the termination message, and its code in docs/.
 */

/**
 * What is the case, and what happens next without anyone's help (or what to do, where help is
 * needed).
 */
type Saying = Readonly<{ what: string; next: string }>;

export const catalogue = {
  GPS200: {
    what: "the revision is in force",
    next: "the file is watched, and put right if it drifts",
  },
  GPS201: {
    what: "revision 0: the node is fit, and nothing is to be applied yet",
    next: "waits for its successor",
  },
  GPS202: { what: "the mounted Secret is not complete", next: "waits for the kubelet to mount it" },
  GPS203: {
    what: "the mounted Secret holds another revision",
    next: "waits for its own (up to 90 s)",
  },
  GPS204: {
    what: "the mounted Secret is refused",
    next: "nothing is changed until it is corrected",
  },
  GPS205: {
    what: "another agent works on this node",
    next: "touches nothing until that one has ended",
  },
  GPS206: {
    what: "config.json cannot be replaced safely",
    next: "nothing is changed until it is put right by hand",
  },
  GPS207: {
    what: "the kubelet can read nothing from config.json",
    next: "it is replaced if it stays so for 2 s, in case another program is still writing it",
  },
  GPS208: { what: "a file operation failed", next: "tried again, at most every 30 s" },
  GPS209: { what: "config.json changed while it was being replaced", next: "looks again" },
  GPS210: {
    what: "systemd could not be asked",
    next: "nothing is changed; asked again, at most every 30 s",
  },
  GPS211: {
    what: "there is no such unit to restart",
    next: "nothing is changed; check --kubelet-unit",
  },
  GPS212: { what: "config.json is written, the restart is owed", next: "the kubelet is restarted" },
  GPS213: {
    what: "the kubelet's restart is under way",
    next: "waits for a new process that answers healthz",
  },
  GPS214: {
    what: "the restarted kubelet failed",
    next: "restarted again after the unit's start limit has passed",
  },
  GPS215: { what: "the new kubelet answers", next: "watched for the probation" },
  GPS216: { what: "the kubelet did not come back", next: "the previous config.json is put back" },
  GPS217: { what: "the previous config.json is back", next: "the kubelet is restarted with it" },
  GPS218: {
    what: "rolled back: the kubelet failed with this revision and runs again with the previous config.json",
    next: "not tried again before the time named; correct the Secret to try at once",
  },
  GPS219: {
    what: "quarantined: the kubelet failed with this revision on this node",
    next: "tried once more when the time is over; correct the Secret to try at once",
  },
  GPS220: {
    what: "the kubelet is still down with the previous config.json",
    next: "restarted again and again",
  },
  GPS221: {
    what: "the kubelet's healthz does not answer",
    next: "nothing is begun until it does; check --healthz-port, and that the kubelet's healthzPort is not 0",
  },
  GPS222: {
    what: "the journal was written by a newer agent",
    next: "nothing is changed; deploy that version again",
  },
  GPS223: {
    what: "the journal is unreadable; what the node had before is no longer known",
    next: "kept as journal.json.corrupt; entries that equal ours are taken for ours",
  },
  GPS224: { what: "withdrawn: the node is as it was before", next: "nothing is left to do" },
  GPS225: { what: "our entries were changed by another program", next: "they are put back" },
  GPS226: { what: "config.json is to be written", next: "staged, read back, renamed" },
  GPS227: { what: "stopped", next: "the next agent goes on from the journal" },
  GPS228: { what: "an unforeseen error", next: "tried again, at most every 30 s" },
  GPS229: {
    what: "the kubelet's unit is not found: not exactly one that may be it is active",
    next: "nothing is changed; looked for again, or name it with --kubelet-unit",
  },
  GPS230: {
    what: "the unit that is to be restarted is not running",
    next: "nothing is changed until it runs; if it is not the kubelet's, name that one with --kubelet-unit",
  },
  GPS231: {
    what: "systemd is older than version 235",
    next: "nothing is changed; update it, or let the kubelet read its file again by itself with --restart Never",
  },
  GPS232: {
    what: "config.json would hide another file that the kubelet takes credentials from",
    next: "nothing is changed; move its entries to config.json in the kubelet's directory, or give --hidden-files Ignore",
  },
  GPS233: {
    what: "it is not known whether config.json would hide another file that the kubelet takes credentials from",
    next: "nothing is changed; look yourself, then write {} to config.json in the kubelet's directory, or give --hidden-files Ignore",
  },
  GPS234: {
    what: "no directory can be watched: the node's inotify is used up",
    next: "nothing is changed; raise fs.inotify.max_user_instances or fs.inotify.max_user_watches",
  },
  GPS240: {
    what: "the probe port is taken by another program, so that nobody can ask whether the node is ready",
    next: "all else is done; the port is tried again, at most every 10 s; --probe-port names another",
  },
  GPS241: {
    what: "systemd's bus could not be reached for 5 minutes",
    next: "the agent ends: only a new container gets a new mount of the bus's directory",
  },
  GPS242: {
    what: "the node does not let us watch files",
    next: "looks every 30 s; raise fs.inotify.max_user_instances and fs.inotify.max_user_watches",
  },
  GPS250: {
    what: "withdrawn, but the journal was lost: config.json may still hold entries of ours that are no longer known",
    next: "waits for a person: take out what is to go, then delete global-pull-secret/journal.json.corrupt beside it",
  },
  GPS251: {
    what: "the rollout is held: the node keeps what it has",
    next: "waits for the next revision",
  },
  GPS252: {
    what: "the rollout is held, and our entries were changed by another program",
    next: "they are put back by the next revision",
  },
  GPS253: {
    what: "a credential was written into a config.json that others than its owner can read",
    next: "its mode is kept as it is; chmod 600 it unless that is meant",
  },
  GPS254: {
    what: "config.json is written; the kubelet reads it again within five minutes, by itself",
    next: "ready when it must have done so",
  },
} as const satisfies Readonly<Record<string, Saying>>;

export type Code = keyof typeof catalogue;

/**
 * One line: `GPS213 what is the case (detail); what happens next`. The detail names files, units
 * and revisions; a credential never. Line breaks in it become spaces, and it is cut at 400
 * characters: the kubelet keeps 4 KiB of a termination message, an Event 1 KiB.
 */
export function say(code: Code, detail?: string): string {
  const { what, next } = catalogue[code];
  const shown = detail?.replaceAll(/\s+/g, " ").slice(0, 400);
  return shown ? `${code} ${what} (${shown}); ${next}` : `${code} ${what}; ${next}`;
}

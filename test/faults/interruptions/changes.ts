/**
 * Changes that an agent makes on its node: the rows of a table, whose columns are the interruptions
 * in interruptions.ts. For every kind of interruption, the same conditions must hold at any instant
 * (`wholeness`) and at the end of the change (`check`).
 */
import assert from "node:assert/strict";
import { existsSync, statSync, writeFileSync } from "node:fs";
import { AgentProcess, encode, keeping, type MountedSources } from "#test/harness/agent/agent.ts";
import { phaseOf } from "../phases.ts";
import { AgentPlace } from "../place.ts";
import { answeredPasswords, hasAsked, installProvider } from "../provider.ts";
import type { Cut } from "../relay.ts";
import { comesBack, crashes } from "#test/harness/agent/scripted-systemd.ts";
import { type Disk, diskOf, lay } from "./disk.ts";

/** A mounted revision, and the flags of the agents that apply it. */
type Mount = Readonly<{ content: MountedSources; flags: readonly string[] }>;

export type Change = Readonly<{
  name: string;
  /** The mount that was applied before the change. Undefined if the node has never had an agent. */
  from?: Mount | undefined;
  /** The mount of the change. If it is the same object as `from`, the change repairs drift. */
  to: Mount;
  /** The number of kubelet restarts that the change requires. */
  restarts: number;
  /** config.json at the end. */
  file: string;
  /** The code in the agent's readiness at the end. */
  code: "GPS200" | "GPS218" | "GPS224" | "GPS254";
  /** The kubelet has used the provider. */
  isAsked?: true;
  /** Prepares the node just before the change. */
  before?: (place: AgentPlace) => Promise<void> | void;
  /** Returns true if a restarted kubelet crashes. */
  breaks?: (place: AgentPlace) => boolean;
  /** The change whose end the test expects if the kubelet does not crash, as after a boot. */
  unbroken?: Change;
  /** Passwords in the provider's answer at the end, on a node that has a provider. */
  answer?: Readonly<Record<string, string>>;
  /** A check that must also hold at any instant. */
  always?: (place: AgentPlace) => void;
}>;

const auths = (passwords: Readonly<Record<string, string>>) => {
  const entries = Object.entries(passwords).map(([key, password]) => [
    key,
    { auth: encode(password) },
  ]);
  return `${JSON.stringify({ auths: Object.fromEntries(entries) })}\n`;
};

/**
 * config.json as another program wrote it, with an entry for a.io, the registry of our entry. But
 * on a node with a provider, config.json is `elsewhere`, without this entry.
 */
const theirs = auths({ "b.io": "theirs", "a.io": "theirs" });
const elsewhere = auths({ "b.io": "theirs" });
const applied = auths({ "b.io": "theirs", "a.io": "ours" });
const rotated = auths({ "b.io": "theirs", "a.io": "second" });

const mountFor =
  (...flags: readonly string[]) =>
  (password?: string): Mount => ({
    content: password === undefined ? {} : { additional: { "a.io": password } },
    flags,
  });
const byFile = mountFor();
const byProvider = mountFor("--delivery=CredentialProvider", "--restart=Never");

const [ours, provided] = [byFile("ours"), byProvider("ours")];
const mine = { "a.io": "ours" };

/**
 * Asserts that pulls from a.io work: the entry is in config.json, in the provider's answer, or in
 * both.
 */
function served({ node }: AgentPlace): void {
  const { auths: all } = JSON.parse(node.file ?? "{}") as { auths?: Record<string, unknown> };
  const inFile = JSON.stringify(all?.["a.io"]) === JSON.stringify({ auth: encode("ours") });
  assert.ok(inFile || answeredPasswords(node.kubelet)?.["a.io"] === "ours", "a.io is not served");
}

/** Asserts that the provider's answer stays until the kubelet has read our entry in config.json. */
function answers(place: AgentPlace): void {
  served(place);
  assert.deepEqual(answeredPasswords(place.node.kubelet), mine);
}

const drifts = ({ node }: AgentPlace) => writeFileSync(node.config, theirs);
const hasOurs = ({ node }: AgentPlace) => node.file === applied;
const twice = ({ systemd }: AgentPlace) => systemd.restartCalls < 3;

/**
 * Returns a row of the table. Derives `code` from the other values if `more` does not contain it.
 */
function change(
  name: string,
  from: Mount | undefined,
  to: Mount,
  restarts: number,
  file: string,
  more: Partial<Change> = {},
): Change {
  const code = more.unbroken ? "GPS218" : to.content.additional ? "GPS200" : "GPS224";
  return { name, from, to, restarts, file, code, ...more };
}

const none = undefined;
const first = change("a first apply", none, ours, 1, applied);

export const changes: readonly Change[] = [
  first,
  change("a first apply whose third restart works", none, ours, 3, applied, { breaks: twice }),
  change("a rotation", ours, byFile("second"), 1, rotated),
  change("a drift repair", ours, ours, 0, applied, {
    before: drifts,
    code: "GPS254",
  }),
  change("a withdrawal", ours, byFile(), 0, theirs),
  change("a rollback", none, ours, 4, theirs, { breaks: hasOurs, unbroken: first }),
  change("a rotation by a provider", provided, byProvider("second"), 0, rotated, {
    answer: { "a.io": "second" },
  }),
  change("a withdrawal from a provider", provided, byProvider(), 0, elsewhere, { answer: {} }),
  change("a change to a provider", ours, provided, 0, applied, { answer: mine, always: served }),
  change("a change to a provider that the kubelet has used", ours, provided, 0, elsewhere, {
    answer: mine,
    always: served,
    isAsked: true,
  }),
  change("a change back from a provider", provided, ours, 0, applied, {
    answer: mine,
    code: "GPS254",
    always: answers,
    isAsked: true,
  }),
];

const uses = (flag: string, { from, to }: Change) =>
  [...(from?.flags ?? []), ...to.flags].includes(flag);
const hasProvider = (row: Change) => uses("--delivery=CredentialProvider", row);
const revisionOf = ({ from, to }: Change) => (from === undefined || from === to ? 1 : 2);
const theirsIn = (row: Change) => (hasProvider(row) ? elsewhere : theirs);

/**
 * Scripts the kubelet. A job takes half a second, so that the next agent can find the job in
 * progress.
 */
function script(place: AgentPlace, row: Change, breaks = row.breaks): void {
  const { systemd } = place;
  systemd.startLimitMicros = 100_000n;
  systemd.outcome = () => ({ ...(breaks?.(place) === true ? crashes : comesBack), takes: 500 });
  systemd.started();
}

/** Makes the kubelet's directory as it is just before the change. */
async function prepared(row: Change): Promise<Disk> {
  await using place = await AgentPlace.make();
  const { node } = place;
  writeFileSync(node.config, theirsIn(row), { mode: 0o640 });
  if (hasProvider(row)) installProvider(node.kubelet);
  if (row.isAsked) hasAsked(node.kubelet);
  script(place, row);
  if (row.from !== undefined) {
    node.mount(1, row.from.content);
    await using agent = await startOn(place, row.from, 1);
    await agent.proves(60_000);
  }
  await row.before?.(place);
  return diskOf(node.kubelet);
}

const disks = new Map<Change, Promise<Disk>>();

/** The kubelet's directory just before the change. It is made once for all cases of the change. */
export function before(row: Change): Promise<Disk> {
  const disk = disks.get(row) ?? prepared(row);
  disks.set(row, disk);
  return disk;
}

/** A node just before the change. With `disk`, a node that has just booted with this disk. */
export async function placeOf(
  row: Change,
  { disk, cut }: Readonly<{ disk?: Disk; cut?: Cut }> = {},
): Promise<AgentPlace> {
  const place = await AgentPlace.make(cut);
  lay(disk ?? (await before(row)), place.node.kubelet);
  script(place, row, disk && (() => false));
  place.node.mount(revisionOf(row), row.to.content);
  return place;
}

function startOn(
  { node, systemd }: AgentPlace,
  { flags }: Mount,
  revision: number,
  under: readonly string[] = [],
): Promise<AgentProcess> {
  node.flags = flags;
  return AgentProcess.start(node, { revision, healthzPort: systemd.healthzPort, under });
}

/**
 * Starts an agent that makes the change. `under` is a command that runs the agent, such as strace.
 */
export function begin(place: AgentPlace, row: Change, under?: readonly string[]) {
  return startOn(place, row.to, revisionOf(row), under);
}

/**
 * Returns the check for any instant of the change: config.json is the whole old file or the whole
 * new file, with the right owner and mode. If config.json contains entries of ours, a journal
 * exists.
 */
export async function wholeness(row: Change): Promise<(place: AgentPlace) => void> {
  const old = (await before(row)).get("config.json");
  assert.ok(old !== undefined && old !== "directory");
  const documents = new Set([old.bytes.toString(), row.file, row.unbroken?.file]);
  return (place) => {
    const { node } = place;
    const { file } = node;
    assert.ok(documents.has(file), `config.json is ${file}`);
    assertOwned(place, [0o600, 0o640]);
    assert.ok(
      file === theirsIn(row) || phaseOf(node) !== undefined,
      "our entries are in the file without a journal",
    );
    // Throws if the provider's answer is not a complete JSON document.
    answeredPasswords(node.kubelet);
    row.always?.(place);
  };
}

/** Asserts that config.json belongs to root and has one of these modes. */
function assertOwned({ node }: AgentPlace, modes: readonly number[]): void {
  const { mode, uid, gid } = statSync(node.config);
  assert.ok(modes.includes(mode & 0o7777), `mode ${(mode & 0o7777).toString(8)}`);
  assert.deepEqual([uid, gid], [0, 0]);
}

/**
 * Checks what the kubelet reads at the end of the change. If config.json contains entries of ours,
 * only root is allowed to read the file.
 */
export function checkFiles(place: AgentPlace, row: Change): void {
  const { kubelet, file } = place.node;
  assertOwned(place, [file === theirsIn(row) ? 0o640 : 0o600]);
  assert.deepEqual(
    { file, answer: answeredPasswords(kubelet) },
    { file: row.file, answer: row.answer },
  );
}

/**
 * Checks the node at the end of the change. `restarts`: the number of restarts that the agents must
 * have requested since the node's last boot.
 */
export function check(place: AgentPlace, row: Change, restarts = row.restarts): void {
  const { node, systemd } = place;
  const isGone = row.code === "GPS224";
  checkFiles(place, row);
  assert.deepEqual(
    {
      kubelet: systemd.active,
      restarts: systemd.restartCalls,
      folder: existsSync(node.folder) ? node.kept : "gone",
      phase: phaseOf(node),
    },
    {
      kubelet: "active",
      restarts,
      folder: isGone ? "gone" : keeping(theirsIn(row)),
      phase: isGone ? undefined : "resting",
    },
  );
}

/**
 * The changes that an agent makes on its node and that may be interrupted, a row each, and what
 * must hold while and after each is made, whatever interrupts it.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { providerFiles, scopes } from "#contract/names.ts";
import { judgeConfig } from "#pullsecret/provider/config.ts";
import { toldOf } from "#pullsecret/provider/flags.ts";
import { AgentProcess, encode, keeping, type MountedSources } from "../../harness/agent/agent.ts";
import { envOf, given, isTold, reads, registering } from "../kubeadm.ts";
import { ageJournal, journalOf, phaseOf } from "../phases.ts";
import { AgentPlace } from "../place.ts";
import { answered, hasAsked, installProvider } from "../provider.ts";
import type { Cut } from "../relay.ts";
import { comesBack, crashes } from "../../harness/agent/scripted-systemd.ts";
import { type Disk, diskOf, lay } from "./disk.ts";

/** What is mounted, and the flags of the agents that apply it. */
type Mount = Readonly<{ content: MountedSources; flags: readonly string[] }>;

export type Change = Readonly<{
  name: string;
  /** What is in force before; without it no agent has been here. */
  from?: Mount | undefined;
  /** What is mounted now; the very same as before is a drift, and no new revision. */
  to: Mount;
  /** How many restarts it takes. */
  restarts: number;
  /** config.json at the end. */
  file: string;
  /** What the agent shows at the end. */
  code: "GPS200" | "GPS219" | "GPS224" | "GPS254";
  /** What happens to the node just before. */
  before?: (place: AgentPlace) => Promise<void> | void;
  /** Whether the kubelet crashes when it is restarted. */
  breaks?: (place: AgentPlace) => boolean;
  /** What becomes of it where the kubelet does not crash, as after a boot. */
  unbroken?: Change;
  /** What the provider answers at the end, on a node that has one. */
  answer?: Readonly<Record<string, string>>;
  /** What kubeadm's file tells the kubelet of a provider at the end. */
  told?: "ours" | "none";
  /** What else must hold at any instant. `asked`: how many restarts were asked for. */
  always?: (place: AgentPlace, asked: number) => void;
}>;

const auths = (passwords: Readonly<Record<string, string>>) => {
  const entries = Object.entries(passwords).map(([key, one]) => [key, { auth: encode(one) }]);
  return `${JSON.stringify({ auths: Object.fromEntries(entries) })}\n`;
};

/** Of another program, of which one is in the way of ours; and where a provider has ours. */
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
const byFlags = mountFor(...registering);
const annotated = mountFor(...registering, "--scope=Annotated");

const [ours, provided, registered] = [byFile("ours"), byProvider("ours"), byFlags("ours")];
const mine = { "a.io": "ours" };

/** a.io is in config.json or in the answer, or in both. */
function served({ node }: AgentPlace): void {
  const { auths: all } = JSON.parse(node.file ?? "{}") as { auths?: Record<string, unknown> };
  const inFile = JSON.stringify(all?.["a.io"]) === JSON.stringify({ auth: encode("ours") });
  assert.ok(inFile || answered(node.kubelet)?.["a.io"] === "ours", "a.io is not served");
}

/** The answer stays until a restart by which config.json was read is proved. */
function answers(place: AgentPlace, asked: number): void {
  served(place);
  const answer = answered(place.node.kubelet);
  // Read after the answer, which may be emptied at any moment from the proof on.
  const phase = phaseOf(place.node) ?? "";
  if (asked === 0 || ["restarting", "settling"].includes(phase)) assert.deepEqual(answer, mine);
}

const drifts = ({ node }: AgentPlace) => writeFileSync(node.config, theirs);
const asks = ({ node }: AgentPlace) => hasAsked(node.kubelet);
const hasOurs = ({ node }: AgentPlace) => node.file === applied;
const twice = ({ systemd }: AgentPlace) => systemd.restartCalls < 3;

/** An agent was killed before it gave config.json its nth file; its journal is of version 1. */
const agedBefore = (nth: number) => async (place: AgentPlace) => {
  const { folder } = place.node;
  const tracing = ["-e", "trace=rename", "-P", join(folder, "config.json.staged")];
  const killing = ["-e", `inject=rename:signal=KILL:when=${nth}`];
  const under = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", ...tracing, ...killing];
  await using agent = await startOn(place, ours, 1, under);
  assert.equal(await agent.ended(), "SIGKILL", agent.output);
  ageJournal(place.node);
};

/** A row. A release shows another code than what is applied, and so does what breaks a kubelet. */
function change(
  name: string,
  from: Mount | undefined,
  to: Mount,
  restarts: number,
  file: string,
  more: Partial<Change> = {},
): Change {
  const code = more.unbroken ? "GPS219" : to.content.additional ? "GPS200" : "GPS224";
  return { name, from, to, restarts, file, code, ...more };
}

const none = undefined;
const inFlags = (answer: Readonly<Record<string, string>>) => ({ answer, told: "ours" }) as const;
const first = change("a first apply", none, ours, 1, applied);
const breaking = { breaks: hasOurs, unbroken: first };
const registration = change("a registration", none, registered, 1, elsewhere, inFlags(mine));

export const changes: readonly Change[] = [
  first,
  change("a first apply whose third restart works", none, ours, 3, applied, { breaks: twice }),
  change("a rotation", ours, byFile("second"), 1, rotated),
  change("a drift repair", ours, ours, 1, applied, { before: drifts }),
  change("a withdrawal", ours, byFile(), 1, theirs),
  change("a rollback", none, ours, 4, theirs, breaking),
  change("an apply with a journal of version 1", none, ours, 1, applied, { before: agedBefore(1) }),
  change("a rollback with a journal of version 1", none, ours, 1, theirs, {
    ...breaking,
    before: agedBefore(2),
  }),
  change("a rotation by a provider", provided, byProvider("second"), 0, elsewhere, {
    answer: { "a.io": "second" },
  }),
  change("a withdrawal from a provider", provided, byProvider(), 0, elsewhere, { answer: {} }),
  change("a change to a provider", ours, provided, 0, applied, { answer: mine, always: served }),
  change("a change to a provider that was asked", ours, provided, 0, elsewhere, {
    answer: mine,
    always: served,
    before: asks,
    code: "GPS254",
  }),
  change("a change back from a provider", provided, ours, 1, applied, {
    answer: {},
    always: answers,
  }),
  registration,
  change("a withdrawal of a registration", registered, byFlags(), 1, elsewhere, { told: "none" }),
  change("a rollback of a registration", none, registered, 4, elsewhere, {
    breaks: isTold,
    unbroken: registration,
    answer: mine,
    told: "none",
  }),
  change("a change to a registration", ours, registered, 1, applied, {
    ...inFlags(mine),
    always: served,
  }),
  change("a change back from a registration", registered, ours, 1, applied, {
    ...inFlags({}),
    always: answers,
  }),
  change("a change of scope", registered, annotated("ours"), 1, elsewhere, {
    ...inFlags(mine),
    always: served,
  }),
];

const uses = (flag: string, { from, to }: Change) =>
  [...(from?.flags ?? []), ...to.flags].includes(flag);
const isRegistering = (row: Change) => uses("--registration=Agent", row);
const hasProvider = (row: Change) => uses("--delivery=CredentialProvider", row);
const revisionOf = ({ from, to }: Change) => (from === undefined || from === to ? 1 : 2);
const theirsIn = (row: Change) => (hasProvider(row) ? elsewhere : theirs);

/** Scripts the kubelet. Each job takes a while, so that it may be met under way. */
function script(place: AgentPlace, row: Change, breaks = row.breaks): void {
  const { systemd } = place;
  if (isRegistering(row)) reads(place);
  systemd.startLimitMicros = 100_000n;
  systemd.fate = () => ({ ...(breaks?.(place) === true ? crashes : comesBack), takes: 500 });
  systemd.started();
}

/** The kubelet's directory just before the change. */
async function prepared(row: Change): Promise<Disk> {
  await using place = await AgentPlace.make();
  const { node } = place;
  writeFileSync(node.config, theirsIn(row), { mode: 0o640 });
  if (isRegistering(row)) writeFileSync(envOf(place), given);
  else if (hasProvider(row)) installProvider(node.kubelet);
  script(place, row);
  if (row.from !== undefined) {
    node.mount(1, row.from.content);
    await using agent = await startOn(place, row.from, 1);
    await agent.shows(200, "GPS200", 60_000);
  }
  await row.before?.(place);
  return diskOf(node.kubelet);
}

const disks = new Map<Change, Promise<Disk>>();

/** The kubelet's directory just before the change; made once. */
export function before(row: Change): Promise<Disk> {
  const known = disks.get(row) ?? prepared(row);
  disks.set(row, known);
  return known;
}

/** A node just before the change or, by another disk, one that was booted with it on the way. */
export async function placeOf(
  row: Change,
  { disk, cut }: Readonly<{ disk?: Disk; cut?: Cut }> = {},
): Promise<AgentPlace> {
  const place = await AgentPlace.make(cut);
  lay(disk ?? (await before(row)), place.node.kubelet);
  script(place, row, disk && (() => false));
  place.node.mount(revisionOf(row), row.to.content);
  if (revisionOf(row) > 1) place.node.newPod();
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

/** Starts an agent that makes the change. `under`: what is put before its program. */
export function begin(place: AgentPlace, row: Change, under?: readonly string[]) {
  return startOn(place, row.to, revisionOf(row), under);
}

/**
 * What must hold at any instant of the change: config.json is wholly the old or the new one with
 * its owner and mode, and a journal tells of what is ours.
 */
export async function wholeness(row: Change): Promise<(place: AgentPlace, asked: number) => void> {
  const old = (await before(row)).get("config.json");
  assert.ok(old !== undefined && old !== "directory");
  const documents = new Set([old.bytes.toString(), row.file, row.unbroken?.file]);
  return (place, asked) => {
    const { node } = place;
    const { file } = node;
    assert.ok(documents.has(file), `config.json is ${file}`);
    assertOwned(place);
    const isOurs = file !== theirsIn(row) || (isRegistering(row) && isTold(place));
    assert.ok(!isOurs || phaseOf(node) !== undefined, "ours without a journal");
    // Throws where the answer is not whole.
    answered(node.kubelet);
    row.always?.(place, asked);
  };
}

/** The owner and the mode stay. */
function assertOwned({ node }: AgentPlace): void {
  const { mode, uid, gid } = statSync(node.config);
  assert.deepEqual([mode & 0o7777, uid, gid], [0o640, 0, 0]);
}

/** The journal's phase at the end: where a kubelet is to read config.json again, it waits. */
const endings = { GPS200: "applied", GPS219: "applied", GPS224: undefined, GPS254: "restarting" };

/** What must hold at the end of the change. `restarts`: of the kubelet that the node has now. */
export function check(place: AgentPlace, row: Change, restarts = row.restarts): void {
  const { node, systemd } = place;
  const isGone = row.code === "GPS224";
  const here = (name: string) => join(node.kubelet, name);
  const config = here(providerFiles.config);
  const hasConfig = existsSync(config);
  const isScope = (scope: (typeof scopes)[number]) => judgeConfig(readFileSync(config), scope).ok;
  assertOwned(place);
  assert.deepEqual(
    {
      kubelet: systemd.active,
      restarts: systemd.restartCalls,
      file: node.file,
      folder: existsSync(node.folder) ? node.kept : "gone",
      version: journalOf(node)?.version,
      phase: phaseOf(node),
      answer: answered(node.kubelet),
      scope: hasConfig ? scopes.find(isScope) : undefined,
      provider: existsSync(here(providerFiles.folder)),
      told: toldOf(systemd.command),
      flags: isRegistering(row) && !isTold(place) && readFileSync(envOf(place), "utf8"),
    },
    {
      kubelet: "active",
      restarts,
      file: row.file,
      folder: isGone ? "gone" : keeping(theirsIn(row)),
      version: isGone ? undefined : 3,
      phase: endings[row.code],
      answer: row.answer,
      scope: row.answer && (row.to.flags.includes("--scope=Annotated") ? "Annotated" : "All"),
      provider: row.answer !== undefined,
      told: row.told ?? "none",
      flags: row.told === "none" && given,
    },
  );
}

/**
 * What becomes of a node where the agent gives the kubelet its provider, once. Pure.
 *
 * A kubelet whose flags name what is missing or spoilt does not start. So flags come last and go
 * first, the files that they name are removed only when a kubelet without them is proved, and what
 * becomes of them meanwhile is put right at once: a node that is rebooted before that starts no
 * agent which could.
 */
import { providerFiles, type ProviderScope } from "#contract/names.ts";
import { quote } from "#pullsecret/problems/keypath.ts";
import { answerOf, script } from "#pullsecret/provider/answer.ts";
import { providerConfig, rowsFor } from "#pullsecret/provider/config.ts";
import { type Journal, nothingOwned } from "#agent/journal/journal.ts";
import type { FoundFile, Plan, Put, Rewrite } from "../delivery.ts";
import type { Document } from "../mount.ts";
import { flagsInto, flagsOut, inDoubt } from "./kubeadm-flags.ts";
import { isThere, notAsked, planRelease, putAnswer, withDigest } from "./observation.ts";
import { share } from "./share.ts";
import type { ProviderTree } from "./tree.ts";

/** With the credential provider in force, and registered by us. */
export function registeredBy(
  config: FoundFile,
  tree: ProviderTree,
  scope: ProviderScope,
): FoundFile {
  return {
    ...config,
    unfit: tree.unfit,
    beside: true,
    registers: isToBeTold(tree) ? "to be registered" : "registered",
    asked: tree.asked,
    note: tree.asked ? undefined : notAsked,
    plan: (journal, document, lost) =>
      document.intent === "release"
        ? planAway(config, tree, journal, document, lost)
        : planIn(config, tree, journal, document, lost, scope),
    planRestore(journal) {
      const back = config.planRestore(journal);
      if (journal.undo?.owned.flags) return back;
      return { ...withLast(back, flagsOut(tree)), unfit: inDoubt(tree, journal) };
    },
    holds: ({ flags, ...owned }) =>
      config.holds(owned) && isThere(tree, owned.answer) && (!flags || isWhole(tree)),
  };
}

/** A kubelet reads flags, and the scope in what they name, at its start only. */
function isToBeTold({ flags, otherScope }: ProviderTree): boolean {
  return flags !== "with" || otherScope;
}

function isWhole({ flags, script, config }: ProviderTree): boolean {
  return flags === "with" && script && config !== undefined;
}

/**
 * Whether the kubelet that runs has all that this document needs told already: nothing was owed
 * when it was in force, so that a configuration which was spoilt since is put back for the next
 * start alone.
 */
function isTold(
  { flags, otherScope }: ProviderTree,
  journal: Journal | undefined,
  { revision, content }: Document,
): boolean {
  return (
    flags === "with" &&
    !otherScope &&
    journal?.owned.flags === true &&
    journal.revision === revision &&
    journal.content === content &&
    !journal.matters
  );
}

/** What the kubelet surely has rows for: what config.json does not serve, the answer did. */
function answeredOf(desired: Document["desired"], { entries }: Journal["owned"]): string[] {
  const served = new Set(entries.filter(({ vacant }) => !vacant).map(({ key }) => key));
  return [...desired.entries.keys()].filter((key) => !served.has(key));
}

function planIn(
  config: FoundFile,
  tree: ProviderTree,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
  scope: ProviderScope,
): Plan {
  const owned = journal?.owned ?? nothingOwned;
  const { desired } = document;
  const told = isTold(tree, journal, document);
  const registries = told ? answeredOf(desired, owned) : [...desired.entries.keys()];
  const rows = tree.config ?? rowsFor(registries);
  const inForce = tree.flags === "with" && owned.flags === true && journal?.phase === "applied";
  const planFor = (asked: boolean) => {
    const shares = share(desired, { rows, asked }, owned, scope);
    return [shares, config.plan(journal, { ...document, desired: shares.config }, lost)] as const;
  };
  const [shares, planned] = planFor(inForce && tree.asked);
  const [, untilAsked] = planFor(false);
  const bytes = answerOf(shares.answer);
  const put = (name: string, text: string, mode: number): Put => {
    return { name, file: { bytes: Buffer.from(text), mode } };
  };
  const tells = isToBeTold(tree) || (tree.config === undefined && !told);
  const { stamp } = providerFiles;
  const first: Put[] = [
    // What an earlier kubelet asked says nothing of the next one.
    ...(tells && tree.names.includes(stamp)
      ? [{ name: stamp, file: { absent: true } } as const]
      : []),
    ...(tree.script ? [] : [put(providerFiles.script, script, 0o700)]),
    ...putAnswer(tree, bytes),
    ...(tree.config ? [] : [put(providerFiles.config, providerConfig(registries, scope), 0o600)]),
  ];
  const last = flagsInto(tree);
  const [unserved] = shares.unserved;
  const all = { ...withDigest(planned.owned, bytes), flags: true as const };
  return {
    ...planned,
    ...(!planned.changed && { kept: true }),
    changed: planned.changed || first.length + last.length > 0,
    // An entry that only makes room for the answer's is no reason to restart anything.
    matters: untilAsked.matters || tells,
    tells,
    owned: all,
    meanwhile: { ...withDigest(planned.meanwhile, bytes), flags: true },
    first,
    last,
    unfit: tree.unfit ?? (unserved && `no row of matchImages is for ${quote(unserved)}`),
  };
}

/** First what we gave goes, and the flags with it; then, once that is proved, what they named. */
function planAway(
  config: FoundFile,
  tree: ProviderTree,
  journal: Journal | undefined,
  document: Document,
  lost: boolean,
): Plan {
  const released = planRelease(config, tree, journal, document, lost);
  const proved = journal === undefined || journal.phase === "applied";
  const doubt = inDoubt(tree, journal);
  // The credentials go all the same.
  if (doubt !== undefined)
    return proved && !released.changed
      ? { ...released, changed: true, kept: true, unfit: doubt }
      : released;
  const { flags: _flags, ...owned } = released.owned;
  const plan = { ...released, owned };
  if (tree.flags === "with") return { ...withLast(plan, flagsOut(tree)), matters: true };
  if (!proved || planned(plan) || tree.names.length === 0) return plan;
  const gone = tree.names.map((name): Put => ({ name, file: { absent: true } }));
  const { last: _last, ...rest } = plan;
  return { ...withLast(rest, gone), kept: true };
}

/** Whether config.json has still to be given back. */
function planned({ changed, kept }: Rewrite): boolean {
  return changed && !kept;
}

function withLast<R extends Rewrite>(rewrite: R, more: readonly Put[]): R {
  if (more.length === 0) return rewrite;
  const kept = rewrite.changed ? rewrite.kept : (true as const);
  const last = [...(rewrite.last ?? []), ...more];
  return { ...rewrite, changed: true, ...(kept && { kept }), last };
}

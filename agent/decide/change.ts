/**
 * Decides how a change begins: whether the node is fit, and what the commit writes. Everything
 * before the commit leaves the node untouched. Pure.
 */
import { auto } from "#contract/values.ts";
import { overlay } from "../delivery/config-json/overlay.ts";
import { only } from "../delivery/contents.ts";
import type { NodeFile } from "../delivery/config-json/config-json.ts";
import type { Published } from "../delivery/mount.ts";
import { unservable } from "../delivery/provider/places.ts";
import type { Facts } from "../facts/facts.ts";
import { isRunning, unitMissing, unitOf } from "../facts/kubelet-state.ts";
import { activeOrder, failureKey } from "../facts/order.ts";
import {
  type Answer,
  ask,
  atOnce,
  codes,
  record,
  refuse,
  resync,
  soon,
  type Step,
  wait,
} from "../facts/step.ts";
import { type Content, type Journal, never, resting, type Resting } from "../journal/journal.ts";
import {
  besideBefore,
  bytesToKeep,
  excessOf,
  hostsOf,
  isRight,
  isSameForKubelet,
  placed,
  writtenFor,
} from "./file.ts";

type Found = Extract<NodeFile, { kind: "file" }>;

/**
 * Begins the change to `published`. If the kubelet takes the same credentials from the new file, or
 * if nothing is restarted, the change ends with the commit.
 */
export function change(facts: Facts, journal: Resting, found: Found, published: Published): Answer {
  const { contents, config } = facts;
  const newest = contents.kind === "contents" ? contents.newest : published;
  const unfit = preflight(facts) ?? unservableStep(facts, published);
  if (unfit !== undefined) return unfit;
  const { isRelease: _isRelease, ...asked } = only(published, newest);
  const content: Content = placed(facts, withoutKind(asked), journal.theirs, true);
  const file = overlay(journal.theirs, content);
  const much = excessOf(file);
  if (much !== undefined) return refuse(codes.unsafe, soon, `it would have ${much}`);
  const former = facts.journal.kind === "journal" ? journal : undefined;
  const hosts = hostsOf(facts, journal, content);
  // A commit writes hosts.toml before the journal.
  if (former !== undefined && hosts !== former.hosts)
    return record(codes.toBeWritten, { ...former, hosts }, former);
  // The file is right already, so only the journal, and perhaps what is beside the file, change.
  if (isRight(found.file, file, content))
    return record(codes.toBeWritten, { ...resting(journal, ""), content, hosts }, former);
  const written = writtenFor(facts, found.file, file, { ...journal, content });
  const next = { ...resting(journal, ""), content, written, hosts };
  const isSame = isSameForKubelet(found.file, file);
  const begun = config.restart === "Never" || isSame ? next : restarting(facts, next, journal);
  return atOnce({
    action: "commit",
    code: codes.toBeWritten,
    ...besideBefore(facts, content),
    commit: {
      journal: begun,
      former,
      file,
      expected: found.identity,
      unreadable: bytesToKeep(found, journal, begun),
    },
  });
}

function restarting(facts: Facts, next: Resting, { content: back }: Resting): Journal {
  const unit = unitOf(facts);
  if (unit === undefined) throw new Error("a restart is due, but the unit is unknown");
  const { failed: _failed, ...kept } = next;
  return {
    ...kept,
    phase: "restarting",
    order: failureKey(next.content, facts.order),
    back,
    unit: unit.name,
    asked: never,
    old: unit.invocation,
    deaths: 0,
    restarts: 0,
  };
}

function withoutKind<C extends Content>({ revision, digest, entries, rest }: C): Content {
  return { revision, digest, entries, rest };
}

function unservableStep({ installed, config }: Facts, content: Content): Step | undefined {
  const why = unservable(content, installed, config.scope);
  return why === undefined ? undefined : refuse(codes.providerUnfit, soon, why);
}

/**
 * The first reason not to touch the node, as a step; undefined if the node is fit.
 *
 * If the unit is dead while our container runs, it is not the kubelet's unit, or an administrator
 * stopped it. We must not start such a unit.
 */
export function preflight(facts: Facts): Answer | undefined {
  const { elsewhere, config, kubelet } = facts;
  if (elsewhere !== undefined) return refuse(codes.elsewhere, resync, elsewhere);
  const unprepared = whyUnprepared(facts);
  if (unprepared !== undefined) return unprepared;
  if (config.restart === "Never") return undefined;
  if (kubelet === undefined) return ask;
  const missing = unitMissing(kubelet.unit);
  if (missing !== undefined) return refuse(missing.code, missing.again, missing.detail);
  const unit = unitOf(facts);
  if (unit === undefined || !isRunning(unit))
    return refuse(codes.unitNotRunning, soon, `${unit?.name} is ${unit?.active}/${unit?.sub}`);
  if (unit.refuses)
    return refuse(
      codes.restartRefused,
      soon,
      `${unit.name} sets RefuseManualStart or RefuseManualStop`,
    );
  return unwell(facts);
}

/** Refuses a node on which nothing would use what the agent writes beside config.json. */
export function whyUnprepared({ config, installed, runtime }: Facts): Step | undefined {
  if (config.scope !== undefined && installed.unfit !== undefined)
    return refuse(codes.providerUnfit, soon, installed.unfit);
  // In another mode, what containerd still has would be used instead of the new content.
  const why = config.isRuntime ? runtime?.unfit : runtime?.unseen;
  return why === undefined ? undefined : refuse(codes.runtimeUnfit, soon, why);
}

/**
 * Refuses while the kubelet does not work: it must answer healthz, or, if nobody of root listens
 * there, renew the node's Lease.
 */
function unwell({ config, kubelet }: Facts): Step | undefined {
  if (kubelet?.healthz === "answers") return undefined;
  if (kubelet?.healthz !== "silent" && kubelet?.isLeased) return undefined;
  const { healthzAddress: address, healthzPort } = config;
  const asked = address === auto ? "127.0.0.1 and ::1" : address;
  const code = kubelet?.healthz === "foreign" ? codes.healthzForeign : codes.kubeletSilent;
  return refuse(code, soon, `${asked}, port ${healthzPort}`);
}

/** Why the node cannot take the content that it is asked to take. */
export function whyNoContent({ contents, order }: Facts): Step | undefined {
  if (contents.kind !== "contents")
    return contents.kind === "incomplete"
      ? wait(codes.incomplete, soon, contents.why)
      : wait(codes.secretRefused, resync, contents.why);
  const asked = activeOrder(order);
  if (asked === undefined) return undefined;
  const mode = contents.isOurMode ? "" : ", for another delivery mode";
  const detail = `published ${contents.newest.revision}, ordered ${asked.revision}${mode}`;
  return wait(codes.otherRevision, resync, detail);
}

/**
 * A fake node with an agent that decides. A test can make the kubelet die, hang or fall silent,
 * kill the agent, fill the disk and damage config.json. The test chooses the mounted content and
 * the order.
 */
import assert from "node:assert/strict";
import { type Order, belongsTo } from "#contract/order.ts";
import { readDocument } from "./delivery/config-json/document.ts";
import { foundOf } from "./delivery/config-json/plan.ts";
import type { FoundFile } from "./delivery/delivery.ts";
import type { Document, Mounted } from "./delivery/mount.ts";
import type { Facts } from "./facts/facts.ts";
import { notAsked, decide, facts as complete, unit } from "./facts/facts.fixture.ts";
import { activeOrder, isEmpty, isVoid } from "./facts/order.ts";
import { progress } from "./facts/kubelet-state.ts";
import type { Step } from "./facts/step.ts";
import { denied, type File, type Journal } from "./journal/journal.ts";
import { Stopwatch } from "./observe/stopwatch.ts";
import type { Unit } from "./systemd/unit.ts";

export const before = '{"auths":{"a.io":{"auth":"dTp0aGVpcnM="},"z.io":{"auth":"dTp0aGVpcnM="}}}';
const hour = 3_600_000;

type KubeletState = "up" | "silent" | "crashing" | "failed" | "hanging" | "refused" | "unchanged";
export const kubeletStates = [
  "up",
  "silent",
  "crashing",
  "failed",
  "hanging",
  "refused",
  "unchanged",
] as const;

export class FakeNode {
  clock = 1_000_000 * hour;
  file = fileOf(before);
  refused = false;
  full = false;
  restart: Facts["config"]["restart"] = "Always";
  probation = 5000;
  kubelet: KubeletState = "up";
  revision = 1;
  document: Document = documentOf(1, {}, "release");
  order: Order | "none" = "none";
  /** The mounted content; if undefined, `document` is mounted. */
  mounted: Mounted | undefined;
  journal: Journal | undefined;
  unit: Unit = unit;
  healthy = true;
  #attempts = 0;
  #starts = 0;
  #restarts = 0;
  #restarted = Number.NEGATIVE_INFINITY;
  #unwritable = false;
  #stopwatch = new Stopwatch(() => this.clock);

  publish(entries: Readonly<Record<string, string>>, intent: Document["intent"]): void {
    this.revision += 1;
    this.document = documentOf(this.revision, entries, intent);
    this.ask();
  }

  /** Orders the document, with a new attempt. */
  ask(): void {
    const { revision, digest } = this.document;
    this.order = { revision, digest, attempt: ++this.#attempts };
    this.mounted = undefined;
  }

  /** The order disappears, while nothing is served. A withdrawal needs no order. */
  forget(): void {
    this.order = "none";
    this.mounted = this.document.intent === "release" ? undefined : { kind: "nothing" };
  }

  kill(): void {
    this.#restarts = 0;
    this.#restarted = Number.NEGATIVE_INFINITY;
    this.#unwritable = false;
    this.#stopwatch = new Stopwatch(() => this.clock);
  }

  start(state: KubeletState): void {
    if (state === "refused" || state === "unchanged") return;
    this.#starts += 1;
    const started = { ...unit, invocation: `start ${this.#starts}`, mainPid: this.#starts };
    const down = { ...started, mainPid: 0, result: "exit-code" };
    this.healthy = state === "up";
    this.unit = {
      up: started,
      silent: started,
      crashing: { ...down, active: "activating", sub: "auto-restart" },
      failed: { ...down, active: "failed", sub: "failed", result: "start-limit-hit" },
      hanging: { ...down, active: "activating", sub: "start" },
    }[state];
  }

  get facts(): Facts {
    const { clock, journal, restart } = this;
    const stopwatch = this.#stopwatch;
    const unitFact = restart === "Never" ? notAsked : this.unit;
    const running =
      "active" in unitFact && unitFact.active === "active" ? unitFact.invocation : undefined;
    const quarantine =
      journal?.quarantine && `${journal.quarantine.revision} ${journal.quarantine.failures}`;
    return complete({
      config: { restart, probation: this.probation },
      now: clock,
      time: { boot: "b", monotonic: clock },
      order: this.order,
      mounted: this.mounted ?? this.document,
      ...(journal !== undefined && { journal }),
      leftovers: false,
      file: this.refused ? { kind: "refused", why: "it has 2 hard links" } : this.file,
      unit: unitFact,
      healthy: this.healthy,
      stopwatch: {
        file: 2000,
        running: stopwatch.unchangedFor("running", running),
        healthy: stopwatch.unchangedFor("healthy", this.healthy ? running : undefined),
        busy: stopwatch.unchangedFor("busy", progress(unitFact)),
        quarantine: stopwatch.unchangedFor("quarantine", quarantine),
      },
      restarts: this.#restarts,
      sinceRestart: clock - this.#restarted,
      unwritable: this.#unwritable,
    });
  }

  /** One step of the agent; `cut`: the agent is killed in the middle. */
  step(cut = false): Step {
    const { facts } = this;
    const step = decide(facts);
    if ("result" in step && step.result === "Proved") this.#proved(facts);
    this.#act(step, cut);
    const pause = this.#unwritable || step.again === "back off" ? 1000 : step.again;
    this.clock += Math.max(1, pause);
    // systemd starts the kubelet again by itself.
    if (this.unit.sub === "auto-restart" && this.kubelet !== "crashing") this.start(this.kubelet);
    if (cut) this.kill();
    return step;
  }

  #act(step: Step, cut: boolean): void {
    if (step.action === "leave") this.journal = undefined;
    else if (step.action === "restore" || step.action === "clean") this.#write(step.plan.file);
    else if (step.action === "apply") {
      if (this.#keep(step.journal) && !cut) this.#write(step.plan.file);
    } else if (step.action === "record") this.#keep(step.journal);
    else if (step.action === "restart") {
      if (!this.#keep(step.journal) && !step.evenUnrecorded) return;
      if (cut) return;
      if (this.kubelet === "refused") return void this.#keep(denied(step.unasked, "AccessDenied"));
      this.start(this.kubelet);
      this.#restarts += 1;
      this.#restarted = this.clock;
    }
  }

  #keep(journal: Journal): boolean {
    this.#unwritable = this.full;
    if (!this.full) this.journal = journal;
    return !this.full;
  }

  #write(file: File): void {
    this.#unwritable = this.full;
    if (this.full) return;
    this.file = "absent" in file ? fileOf(undefined) : fileOf(file.bytes.toString());
    const { now } = this.file;
    const { content, intent } = this.document;
    // Before the withdrawal begins, the agent can still roll back an earlier change.
    if (intent === "release" && this.journal?.content === content && "bytes" in now)
      assert.ok(
        !auths.some((auth) => now.bytes.includes(auth)),
        "a withdrawn credential is restored",
      );
  }

  #proved({ file, journal, healthy, mounted, order }: Facts): void {
    assert.ok(healthy, "proved, but the kubelet does not answer");
    assert.ok(journal.kind === "journal" && !isEmpty(journal.journal), "proved without content");
    assert.ok(file.kind === "file" || file.kind === "absent", "proved, but the file is unreadable");
    if (activeOrder(order) !== undefined && !isVoid({ order, mounted }))
      assert.ok(belongsTo(journal.journal, order), "proved without the ordered content");
    assert.ok(file.holds(journal.journal.owned), "proved without our entries");
  }
}

export function fileOf(text: string | undefined): FoundFile {
  const bytes = Buffer.from(text ?? "{}");
  const reading = readDocument(bytes);
  assert.ok(reading.kind === "document");
  const { document } = reading;
  return text === undefined
    ? foundOf({ kind: "absent", identity: "absent", document })
    : foundOf({ kind: "file", identity: text, bytes, mode: 0o600, document, digest: text });
}

export const authOf = (word: string) => Buffer.from(`u:${word}`).toString("base64");

export function documentOf(
  revision: number,
  auths: Readonly<Record<string, string>>,
  intent: Document["intent"],
): Document {
  const content = JSON.stringify([auths, intent === "release"]);
  const entries = Object.entries(auths).map(
    ([key, auth]) => [key, { value: { auth: authOf(auth) }, original: false }] as const,
  );
  const desired = { entries: new Map(entries), rest: new Map() };
  return { kind: "document", revision, digest: `${revision} ${content}`, content, desired, intent };
}

export const words = ["one", "two"];
const auths = words.map(authOf);

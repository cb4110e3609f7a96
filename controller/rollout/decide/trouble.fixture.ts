/** For tests: the model, and what of its work is due to nodes that are in trouble. */
import type { ModelNode } from "#test/harness/nodes/nodes.ts";
import type { RevisionContent } from "#contract/names.ts";
import { Model } from "./decide.fixture.ts";

/**
 * Seconds after a node's return in which it may cost another one: its slot is taken back within
 * 30 s (docs/decisions/0021), and a node that was taken by then is at work for some 13 s.
 */
const afterReturn = 43;

export class TroubledModel extends Model {
  readonly #troubled = new Set<string>();
  /** Name of a node → when it came back. */
  readonly #returned = new Map<string, number>();
  /** Most nodes at work beside those in trouble, less those that came back a moment ago. */
  mostBeside = 0;
  /** Most nodes that had come back a moment ago while others were at work. */
  mostReturned = 0;
  /** Others were at work while a node was in trouble. */
  isWorkBeside = false;
  /** Sources that a hold gave the nodes, though they were neither published before nor wanted. */
  readonly broughtBack: string[] = [];

  override measure(): void {
    super.measure();
    let atWork = 0;
    for (const node of this.nodes)
      if (isInTrouble(node)) this.#troubled.add(node.name);
      else {
        if (this.#troubled.delete(node.name)) this.#returned.set(node.name, this.now);
        if (this.isAtWork(node)) atWork += 1;
      }
    const lately = [...this.#returned.values()].filter((at) => this.now - at <= afterReturn);
    this.mostBeside = Math.max(this.mostBeside, atWork - lately.length);
    if (atWork === 0) return;
    this.isWorkBeside ||= this.#troubled.size > 0;
    this.mostReturned = Math.max(this.mostReturned, lately.length);
  }

  override reconcile(): void {
    const before = this.contents.get(this.published);
    super.reconcile();
    const after = this.contents.get(this.published);
    if (after === before || after?.intent !== "hold") return;
    const known = new Set([before, this.wanted].flatMap(sourcesOf));
    this.broughtBack.push(...sourcesOf(after).filter((source) => !known.has(source)));
  }
}

/** It cannot work, and not because its agent was replaced. */
function isInTrouble({ ready, trouble, kubelet, pods }: ModelNode): boolean {
  if (!ready.is) return true;
  return pods.some(({ state, wasReady }) => {
    if (state.ready.is || kubelet !== "up") return false;
    const hasFailed = (state.container.last?.exitCode ?? 0) > 0;
    return hasFailed || wasReady || trouble === "hangs";
  });
}

const sourcesOf = (content: RevisionContent | undefined) =>
  Object.values(JSON.parse(content?.sources ?? "{}") as Readonly<Record<string, string>>);

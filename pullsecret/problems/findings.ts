/** What is found while a source is read: problems refuse it, warnings do not. */
import { formatPath, type Steps } from "./keypath.ts";
import { keptAnyway, leftOut, problem, type Problem, type ProblemKind } from "./problems.ts";

/** How strictly a source is read: nodes may already live with what an original says. */
export type Role = "original" | "additional";

/** Where bytes come from: the name that lines begin with, and what is forgiven. */
export type NamedSource = Readonly<{ name: string; role: Role }>;

export class Findings {
  readonly source: NamedSource;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  /** Of entries that serve nothing: problems where no other entry is of use, else warnings. */
  readonly #useless: Problem[] = [];

  constructor(source: NamedSource) {
    this.source = source;
  }

  /** It would hurt a node, or cannot be written faithfully. */
  refuse(kind: ProblemKind, path: Steps, ...details: string[]): void {
    this.problems.push(problem(kind, this.source.name, formatPath(path), ...details));
  }

  /**
   * The kubelet skips it singly: refused in an additional, where it can only be a mistake; kept in
   * an original.
   */
  dislike(kind: ProblemKind, path: Steps, ...details: string[]): void {
    const found = problem(kind, this.source.name, formatPath(path), ...details);
    if (this.source.role === "additional") this.problems.push(found);
    else this.warnings.push(keptAnyway(found));
  }

  /**
   * The entry serves no image, and hurts no other: kept in an original; left out of an additional
   * that has better ones. True if it is to be left out.
   */
  useless(kind: ProblemKind, path: Steps, ...details: string[]): boolean {
    if (this.source.role === "original") this.dislike(kind, path, ...details);
    else this.#useless.push(problem(kind, this.source.name, formatPath(path), ...details));
    return this.source.role === "additional";
  }

  /**
   * Left out of an original, because it cannot be written; refused in an additional, whose author can
   * correct it.
   */
  leaveOut(kind: ProblemKind, path: Steps, ...details: string[]): void {
    const found = problem(kind, this.source.name, formatPath(path), ...details);
    if (this.source.role === "additional") this.problems.push(found);
    else this.warnings.push(leftOut(found));
  }

  /** To be called at the end. `used`: whether some entry of the source is of use. */
  settle(used: boolean): void {
    if (used) this.warnings.push(...this.#useless.map(leftOut));
    else this.problems.push(...this.#useless);
  }

  /** Legal but surprising. */
  warn(kind: ProblemKind, path: Steps, ...details: string[]): void {
    this.warnings.push(problem(kind, this.source.name, formatPath(path), ...details));
  }
}

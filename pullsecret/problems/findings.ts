/** What is found while a source is read: problems refuse it, warnings do not. */
import { formatPath, type Steps } from "./keypath.ts";
import { keptAnyway, problem, type Problem, type ProblemKind } from "./problems.ts";

/** How strictly a source is read: nodes may already live with what an original says. */
export type Role = "original" | "additional";

/** Where bytes come from: the name that lines begin with, and what is forgiven. */
export type NamedSource = Readonly<{ name: string; role: Role }>;

export class Findings {
  readonly source: NamedSource;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];

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

  /** Legal but surprising. */
  warn(kind: ProblemKind, path: Steps, ...details: string[]): void {
    this.warnings.push(problem(kind, this.source.name, formatPath(path), ...details));
  }
}

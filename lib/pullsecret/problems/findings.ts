/**
 * Collects problems and warnings while a source is read. Problems refuse the source, warnings do
 * not.
 */
import { formatPath, type Steps } from "./keypath.ts";
import {
  catalogue,
  keptAnyway,
  leftOut,
  problem,
  type Problem,
  type ProblemKind,
} from "./problems.ts";

/** An original is read less strictly, because nodes might already use its content. */
export type Role = "original" | "additional";

/** `name`: the source's name, with which lines begin. `role`: how strictly the source is read. */
export type NamedSource = Readonly<{ name: string; role: Role }>;

export class Findings {
  readonly source: NamedSource;
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  /**
   * Two messages for each entry of little or no use. `alone`: if the source has no better entry.
   * `beside`: if it has a better entry.
   */
  readonly #useless: Readonly<{ alone: Problem; beside: Problem }>[] = [];

  constructor(source: NamedSource) {
    this.source = source;
  }

  /** Refuses the source, because the entry would hurt a node or cannot be written faithfully. */
  refuse(kind: ProblemKind, path: Steps, ...details: string[]): void {
    this.problems.push(problem(kind, this.source.name, formatPath(path), ...details));
  }

  /**
   * For an entry that the kubelet skips, without dropping the file. In an additional source, the
   * entry can only be a mistake, so the source is refused. In an original, the entry is kept, with
   * a warning.
   */
  dislike(kind: ProblemKind, path: Steps, ...details: string[]): void {
    const finding = problem(kind, this.source.name, formatPath(path), ...details);
    if (this.source.role === "additional") this.problems.push(finding);
    else this.warnings.push(keptAnyway(finding));
  }

  /**
   * For an entry that serves no image, and does not hurt other entries. An original keeps the
   * entry. An additional source leaves the entry out if it has better ones. Returns true if the
   * entry must be left out.
   */
  useless(kind: ProblemKind, path: Steps, ...details: string[]): boolean {
    if (this.source.role === "original") this.dislike(kind, path, ...details);
    else {
      const alone = problem(kind, this.source.name, formatPath(path), ...details);
      this.#useless.push({ alone, beside: leftOut(alone) });
    }
    return this.source.role === "additional";
  }

  /**
   * For an entry that serves few images. The entry is kept, even if the source has better entries.
   */
  doubtful(kind: ProblemKind, beside: ProblemKind, path: Steps): void {
    if (this.source.role === "original") return this.dislike(kind, path);
    const [alone, warning] = [kind, beside].map((problemKind) =>
      problem(problemKind, this.source.name, formatPath(path)),
    ) as [Problem, Problem];
    this.#useless.push({ alone, beside: warning });
  }

  /**
   * For an entry that cannot be written. An original leaves the entry out. An additional source is
   * refused, because its author can correct it.
   */
  leaveOut(kind: ProblemKind, path: Steps, ...details: string[]): void {
    const finding = problem(kind, this.source.name, formatPath(path), ...details);
    if (this.source.role === "additional") this.problems.push(finding);
    else this.warnings.push(leftOut(finding));
  }

  /** To be called at the end. `used`: whether at least one entry is certainly useful. */
  settle(used: boolean): void {
    if (used) this.warnings.push(...this.#useless.map(({ beside }) => beside));
    else this.problems.push(...this.#useless.map(({ alone }) => alone));
  }

  /** Whether the only reason to refuse the source is that none of its entries is useful. */
  get isIdle(): boolean {
    const idle = new Set(this.#useless.map(({ alone }) => alone));
    const [code] = catalogue.nothingLeft;
    return this.problems.every((finding) => finding.code === code || idle.has(finding));
  }

  /** Warns about something that is legal but surprising. */
  warn(kind: ProblemKind, path: Steps, ...details: string[]): void {
    this.warnings.push(problem(kind, this.source.name, formatPath(path), ...details));
  }
}
